public import AppleFoundation

public enum FilterOperation {
    case compress
    case decompress
}

public enum Algorithm {
    case zlib
}

public class OutputFilter {
    public init(
        _ operation: FilterOperation, using algorithm: Algorithm, bufferCapacity: Int = 65_536,
        writingTo writeFunc: @escaping (Data?) throws -> Void
    ) throws {}

    public func write<D: DataProtocol>(_ data: D?) throws {}

    public func finalize() throws {}
}
