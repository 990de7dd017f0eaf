/// The version of a server or an app as written in the protocol's headers: three integers separated by dots.
public struct ServerVersion: Sendable, Hashable, Comparable, RawRepresentable, CustomStringConvertible {
    /// The first number.
    public let major: Int
    /// The second number.
    public let minor: Int
    /// The third number.
    public let patch: Int

    /// Creates a version.
    public init(_ major: Int, _ minor: Int, _ patch: Int) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Parses `X.Y.Z`; nil for anything else, including fewer or more parts and signs.
    public init?(rawValue: String) {
        let parts = rawValue.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int($0) : nil }
        guard parts.count == 3, numbers.count == 3 else { return nil }
        self.init(numbers[0], numbers[1], numbers[2])
    }

    /// `X.Y.Z`.
    public var rawValue: String { "\(major).\(minor).\(patch)" }

    /// `X.Y.Z`.
    public var description: String { rawValue }

    /// Compares the first number, then the second, then the third.
    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }
}
