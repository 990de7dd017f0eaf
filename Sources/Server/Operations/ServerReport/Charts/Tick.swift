/// A value with its name on an axis.
struct Tick: Equatable {
    var value: Double
    var label: String

    /// Whole round numbers from 0 to the first one that is not below `maximum`, two to six of them.
    static func wholeNumbers(upTo maximum: Int) -> [Tick] {
        let maximum = max(1, maximum)
        // 1, 2, 5, 10, 20, 50, …
        var step = 1.0
        var factors = [2.0, 2.5, 2.0][...]
        while Double(maximum) > step * 5 {
            step *= factors.first ?? 2
            factors = factors.count > 1 ? factors.dropFirst() : [2.0, 2.5, 2.0][...]
        }
        let count = Int((Double(maximum) / step).rounded(.up))
        return (0...count).map { Tick(value: Double($0) * step, label: Quantity.rounded(Double($0) * step)) }
    }
}
