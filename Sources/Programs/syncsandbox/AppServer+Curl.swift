internal import Curl
internal import Sandbox

extension AppServer {
    /// How long a request may take: the server ends its own after 40 seconds, except for slow transfers.
    private static let patience = Duration.seconds(120)

    /// The server at `address`, whose certificate must be signed by the named authorities, or by one that the system
    /// knows.
    init(address: String, authorities: String?) {
        self.init(address: address) { request throws(Unreachable) in
            do throws(CurlError) {
                var handle = try EasyHandle(routing: Routing(caFile: authorities))
                var call = Curl.Request(
                    method: request.method, url: request.url, headers: request.headers,
                    body: request.body.isEmpty ? .none : .bytes(request.body))
                call.totalTimeout = Self.patience
                call.responseBodyLimit = request.replyLimit
                let response = try handle.perform(call)
                return Reply(status: response.status, headers: response.headers, body: response.body)
            } catch {
                throw Unreachable(error.debugDescription)
            }
        }
    }
}
