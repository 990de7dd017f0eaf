public protocol Digest: Sequence, Sendable where Element == UInt8 {}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

public struct SHA256: HashFunction {
    public typealias Digest = StubDigest
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> StubDigest { StubDigest() }
}

public enum Insecure {
    public struct MD5: HashFunction {
        public typealias Digest = StubDigest
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> StubDigest { StubDigest() }
    }

    public struct SHA1: HashFunction {
        public typealias Digest = StubDigest
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> StubDigest { StubDigest() }
    }
}

public struct StubDigest: Digest {
    public func makeIterator() -> IndexingIterator<[UInt8]> { [].makeIterator() }
}

public enum Curve25519 {
    public enum Signing {
        public struct PublicKey: Sendable {
            public init<D>(rawRepresentation data: D) throws where D: Sequence, D.Element == UInt8 {}
            public func isValidSignature<S, D>(_ signature: S, for data: D) -> Bool
            where S: Sequence, S.Element == UInt8, D: Sequence, D.Element == UInt8 { false }
        }
    }
}
