/// What can go wrong with a compressed file.
public enum GzipError: Error, Equatable {
    /// The file cannot be opened, created, written or closed; the payload is errno, 0 if zlib gave none.
    case system(call: String, errno: Int32)
    /// The data read is not what was written: the file is damaged, truncated, or not compressed with gzip.
    case damaged
    /// A line is longer than the reader allows.
    case lineTooLong(limitBytes: Int)
}

extension GzipError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .system(let call, let code): "\(call) failed with errno \(code)"
        case .damaged: "the file is damaged, cut short, or not compressed with gzip"
        case .lineTooLong(let limit): "a line is longer than \(limit) bytes"
        }
    }
}
