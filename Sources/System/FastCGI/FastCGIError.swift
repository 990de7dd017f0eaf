/// What can go wrong between nginx and a responder.
public enum FastCGIError: Error, Equatable {
    /// The peer closed the connection in the middle of a request: the phone disconnected, or nginx gave up.
    case aborted
    /// The peer neither read nor sent anything within the request's time limit.
    case timedOut
    /// The listening socket cannot be created or used; the payload is errno.
    case socket(errno: Int32)
    /// libfcgi returned a code that indicates a setup error.
    case library(code: Int32)
}

extension FastCGIError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .aborted: "the connection to the web server ended in the middle of the request"
        case .timedOut: "the web server accepted no bytes for too long"
        case .socket(let errno): "the listening socket cannot be used (errno \(errno))"
        case .library(let code): "libfcgi failed with code \(code)"
        }
    }
}
