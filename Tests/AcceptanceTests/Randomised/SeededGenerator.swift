/// The random numbers of a run: the same ones again for the same seed (SplitMix64, doi:10.1145/2714064.2660195).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }

    /// True in so many of a hundred cases.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    /// One of several; nil if there are none. Sort what comes from a dictionary: its order differs from run to run.
    mutating func pick<C: RandomAccessCollection>(_ elements: C) -> C.Element? { elements.randomElement(using: &self) }

    /// One of several, each as often as its weight says.
    mutating func pick<Element>(weighted elements: [(weight: Int, Element)]) -> Element {
        var number = Int.random(in: 0..<elements.reduce(0) { $0 + $1.weight }, using: &self)
        for (weight, element) in elements {
            if number < weight { return element }
            number -= weight
        }
        preconditionFailure("the weights are not negative")
    }

    /// So many random bytes.
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }

    /// A UUID in the form of the wire.
    mutating func uuid() -> String {
        let digits = bytes(16).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
        return [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
            .map { $0.joined() }.joined(separator: "-")
    }
}
