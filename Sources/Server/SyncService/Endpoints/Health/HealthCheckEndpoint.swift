import Store
import SyncProtocol

/// Reports that this process and its database work.
///
/// Reads only; may be repeated.
struct HealthCheckEndpoint: Endpoint {
    /// - Throws: ``StoreError/unavailable(_:)`` if the database does not respond: load balancers should see that.
    func respond(
        to request: HealthCheckRequest, from caller: Anyone, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.check()
        let uptime = context.services.uptime().components
        return .json(
            HealthCheckResponse(
                currentServerDateTime: context.now,
                serverUptime: Double(uptime.seconds) + Double(uptime.attoseconds) / 1e18,
                deployedGitTag: context.services.settings.serverVersion))
    }
}

extension HealthCheckRequest: ServedRequest {
    typealias Handler = HealthCheckEndpoint
}
