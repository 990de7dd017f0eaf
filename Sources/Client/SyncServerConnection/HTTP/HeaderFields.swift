import HTTPTypes
import SyncProtocol

extension RequestHeader {
    /// The header for swift-http-types.
    var fieldName: HTTPField.Name {
        guard let name = HTTPField.Name(rawValue) else { preconditionFailure("\(rawValue) is no header name") }
        return name
    }
}

extension ResponseHeader {
    /// The header for swift-http-types, which compares names case-insensitively.
    var fieldName: HTTPField.Name {
        guard let name = HTTPField.Name(rawValue) else { preconditionFailure("\(rawValue) is no header name") }
        return name
    }
}

extension HTTPReply {
    /// The value of one of the protocol's headers; nil if it is missing.
    func header(_ header: ResponseHeader) -> String? { self.header(header.fieldName) }
}
