/// The random numbers of a run, reproducible from the seed (SplitMix64, doi:10.1145/2714064.2660195).
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

    /// Returns true with a probability of `percent` percent.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    /// Returns a random element; nil if the collection is empty. Sort the elements of a dictionary first, since their
    /// order differs from run to run.
    mutating func pick<C: RandomAccessCollection>(_ elements: C) -> C.Element? { elements.randomElement(using: &self) }

    /// Returns a random element with a probability proportional to its weight.
    mutating func pick<Element>(weighted elements: [(weight: Int, Element)]) -> Element {
        var number = Int.random(in: 0..<elements.reduce(0) { $0 + $1.weight }, using: &self)
        for (weight, element) in elements {
            if number < weight { return element }
            number -= weight
        }
        preconditionFailure("the weights are not negative")
    }

    /// Returns `count` random bytes.
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }

    /// Returns a UUID in wire format.
    mutating func uuid() -> String {
        let digits = bytes(16).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
        return [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
            .map { $0.joined() }.joined(separator: "-")
    }
}
