/// The outcome of looking up the endpoint of a request.
public enum RouteLookup: Sendable, Hashable {
    /// The endpoint of the request.
    case found(EndpointRoute)
    /// The path is known, but requires another method (405); the value belongs in the `Allow` header.
    case methodNotAllowed(allowed: EndpointRoute.Method)
    /// There is no such path (404).
    case unknownPath

    /// Looks up an endpoint by method and path, both case-sensitive.
    /// - Parameters:
    ///   - method: The HTTP method, in capitals as received.
    ///   - path: The decoded path without query: `/Index/` as clients send it, or `/Index`.
    ///   - prefix: The text before the endpoint's name in all paths, without a trailing slash; normally empty.
    ///   - debug: Whether endpoints of debug builds exist.
    public init(method: String, path: String, prefix: String = "", debug: Bool = false) {
        guard path.hasPrefix(prefix) else {
            self = .unknownPath
            return
        }
        var name = path.dropFirst(prefix.count)
        guard name.popFirst() == "/" else {
            self = .unknownPath
            return
        }
        if name.last == "/" { name.removeLast() }
        guard let route = EndpointName(rawValue: String(name))?.route, debug || !route.isDebugOnly else {
            self = .unknownPath
            return
        }
        self = route.method.rawValue == method ? .found(route) : .methodNotAllowed(allowed: route.method)
    }
}
