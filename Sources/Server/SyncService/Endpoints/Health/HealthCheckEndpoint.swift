import Store
import SyncProtocol

/// Reports that this process and its database work, and whether the server accepts changes or is closed.
///
/// The process already knows whether changes are possible and whether maintenance is on; it does not ask the database.
///
/// Reads only; may be repeated.
struct HealthCheckEndpoint: Endpoint {
    /// - Throws: ``StoreError/unavailable(_:)`` if the database does not respond: load balancers should see that.
    func respond(
        to request: HealthCheckRequest, from caller: Anyone, in context: RequestContext
    ) throws -> EndpointReply {
        try context.store.check()
        let uptime = context.services.uptime().components
        let availability: HealthCheckResponse.Availability =
            if context.services.maintenance?.notice != nil || context.head.isHostClosed {
                .maintenance
            } else if context.services.maintenance?.isReadOnly == true || context.store.writes.areRefused {
                .readOnly
            } else {
                .full
            }
        return .json(
            HealthCheckResponse(
                currentServerDateTime: context.now,
                serverUptime: Double(uptime.seconds) + Double(uptime.attoseconds) / 1e18,
                deployedGitTag: context.services.settings.serverVersion, availability: availability))
    }
}

extension HealthCheckRequest: ServedRequest {
    typealias Handler = HealthCheckEndpoint
}
