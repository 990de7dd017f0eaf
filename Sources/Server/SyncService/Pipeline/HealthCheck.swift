import HTTPTransport
public import Logging
public import Store
import SyncProtocol
import Synchronization

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
                deployedGitTag: context.services.settings.serverVersion, availability: availability,
                mimeTypes: context.services.settings.mimeTypes.types, uploadSmallFiles: .current))
    }
}

extension HealthCheckRequest: ServedRequest {
    typealias Handler = HealthCheckEndpoint
}

/// Pages that are not endpoints of the protocol. The web server serves the pages for the host's own monitoring on
/// loopback only; ``failover`` and ``manifestKeys`` are public.
public enum OperatorPage: String, Sendable {
    /// Whether this process accepts requests at all. Does not query the database, since a restart would not repair
    /// that.
    case live
    /// Whether requests would succeed: the database responds and has the right schema. A process that is stopping
    /// accepts no more requests, so it does not report itself as ready.
    case ready
    /// Metrics for Prometheus.
    case metrics
    /// The text that deployed apps fetch and show after a 503.
    case failover
    /// The public keys of the manifests in owners' folders, in JSON.
    case manifestKeys
}

extension Router {
    /// The text for a 503 without an announcement.
    private static let unannounced = "The service is not available at the moment. Please try again later."

    /// Answers a request for a page.
    /// - Parameter metrics: content type and text of the metrics; `nil` if none are collected.
    public func answer(
        _ page: OperatorPage, on connection: any ClientConnection,
        metrics: () throws -> (contentType: String, text: [UInt8])?
    ) {
        var status = 200
        var headers = [(name: "content-type", value: "text/plain; charset=utf-8")]
        var body = Array("\(page.rawValue)\n".utf8)
        do {
            switch page {
            case .live: break
            case .ready: try checkStore()
            case .failover: body = Array((maintenanceText ?? rebuildText ?? Self.unannounced).utf8)
            case .manifestKeys:
                body = try manifestKeys()
                headers = services.commonHeaders + [(name: "content-type", value: "application/json")]
            case .metrics:
                guard let numbers = try metrics() else { throw Refusal(.endpointUnknown) }
                headers = [(name: "content-type", value: numbers.contentType)]
                body = numbers.text
            }
        } catch {
            let refusal = Refusal(for: error)
            status = refusal.status
            body = Array("\(refusal.code.rawValue)\n".utf8)
            if page == .manifestKeys {
                let reply = ErrorReply(
                    refusal, requestID: nil, accept: nil, commonHeaders: services.commonHeaders)
                (headers, body) = (reply.headers, reply.body)
            }
        }
        headers += [(name: "content-length", value: "\(body.count)"), (name: "cache-control", value: "no-store")]
        do {
            try connection.start(status: status, headers: headers)
            try connection.write(body.span)
            connection.finish()
        } catch {
            connection.abandon()
        }
    }

    private var rebuildText: String? { services.maintenance?.rebuild?.isOn == true ? RebuildGate.text : nil }

    private func manifestKeys() throws -> [UInt8] {
        let keys = try services.store.withSession { try $0.manifestKeys() }
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("keys", objects: keys) { key, writer in
                writer.field("key", text: GroupManifest.text(ofPublicKey: key.key))
                writer.field("firstUsed", key.firstUsedAt)
            }
        }
        return writer.bytes
    }
}

/// The announcements of maintenance and of a rebuild that a process knows, and keeps while the database does not
/// answer.
public final class MaintenanceWatch: Sendable {
    /// How often to ask the database, and thus the longest time until an announcement takes effect.
    public static let interval: Duration = .milliseconds(500)

    private let store: MetadataStore
    private let logger: Logger
    private typealias Seen = (notice: MaintenanceNotice?, isReadOnly: Bool, rebuild: RebuildMode?)
    private let seen = Mutex<Seen>((nil, false, nil))

    public init(store: MetadataStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// The announcement in force; `nil` if the server is open.
    public var notice: MaintenanceNotice? { seen.withLock { $0.notice } }

    /// Whether the database refuses changes.
    public var isReadOnly: Bool { seen.withLock { $0.isReadOnly } }

    /// The rebuild of the database; `nil` if there was none.
    public var rebuild: RebuildMode? { seen.withLock { $0.rebuild } }

    /// Asks the database.
    public func refresh() {
        let now: Seen
        do {
            now = try store.withSession { session in
                (try session.maintenanceNotice(), try session.isReadOnly(), try session.rebuildMode())
            }
        } catch { return }
        let former = seen.withLock { seen in
            defer { seen = now }
            return seen
        }
        if former.isReadOnly != now.isReadOnly {
            logger.warning(
                now.isReadOnly ? "The database is read-only: changes fail" : "The database accepts changes again")
        }
        let notice = now.notice
        guard (former.notice == nil) != (notice == nil) else { return }
        if let notice {
            logger.notice("Closed for maintenance", metadata: .keyed([.reason: "\(notice.text)"]))
        } else {
            logger.notice("Open again after maintenance")
        }
    }
}
