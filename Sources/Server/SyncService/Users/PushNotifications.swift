import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Stores the address at which the calling device receives push notifications.
///
/// A repeated request finds or creates the same resources and stores the same row. Any earlier registration of the
/// token, on another device or by another person, ends.
struct RegisterPushNotificationTokenEndpoint: Endpoint {
    func respond(
        to request: RegisterPushNotificationTokenRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        guard !request.pushNotificationToken.isEmpty else {
            throw Refusal(.parameterOutOfRange, "pushNotificationToken must not be empty")
        }
        let service = try service(for: request.pushNotificationKind, of: context.services.push)
        // Counted in a separate transaction, since Amazon is called before anything else is stored.
        try context.store.transaction { try context.use(.pushRegistrationsPerHour, of: caller.person, in: &$0) }
        switch service {
        case .sns(let sns): try subscribe(request.pushNotificationToken, at: sns, caller, context)
        case .apns:
            guard APNs.isDeviceToken(request.pushNotificationToken) else {
                throw Refusal(
                    .parameterOutOfRange, "pushNotificationToken must be an even number of hex digits, 2 to 512")
            }
            try register(
                PushRegistration(
                    kind: .apns, token: request.pushNotificationToken.lowercased(),
                    environment: request.pushNotificationEnvironment), caller, context)
        case .fcm: try register(PushRegistration(kind: .fcm, token: request.pushNotificationToken), caller, context)
        }
        return .json(EmptyResponse())
    }

    private enum Service {
        case apns
        case fcm
        case sns(SNS)
    }

    /// Clients that name no service have an APNs token and were built for SNS.
    private func service(for kind: PushNotificationKind?, of services: PushServices) throws -> Service {
        switch kind {
        case .apns where services.has(.apns): return .apns
        case .fcm where services.has(.fcm): return .fcm
        case nil:
            if let sns = services.sns { return .sns(sns) }
            if services.has(.apns) { return .apns }
        case .apns, .fcm: break
        }
        throw Refusal(.pushNotConfigured)
    }

    private func subscribe(_ token: String, at sns: SNS, _ caller: SignedInUser, _ context: RequestContext) throws {
        let client = PushClient(transport: context.transport, deadline: context.deadline)
        let subscription = try sns.subscribe(deviceToken: token, of: caller.userID, through: client)
        try register(
            PushRegistration(
                kind: .sns, token: token, endpointARN: subscription.endpointARN,
                subscriptionARN: subscription.subscriptionARN),
            topic: subscription.topicARN, caller, context)
    }

    private func register(
        _ registration: PushRegistration, topic: String? = nil, _ caller: SignedInUser, _ context: RequestContext
    ) throws {
        try endSubscriptions(replacedBy: registration, caller, context)
        try context.store.transaction { session in
            guard try session.holdUser(caller.userID) else { throw Refusal(.userUnknown) }
            if let topic { try session.storePushTopic(topic, of: caller.userID) }
            try session.register(registration, of: caller.userID, on: caller.device, at: context.now)
        }
    }

    /// Unsubscribes a device from the topics of others before its old subscriptions are deleted: notifications for one
    /// person must not appear on a device that now belongs to another.
    private func endSubscriptions(
        replacedBy registration: PushRegistration, _ caller: SignedInUser, _ context: RequestContext
    ) throws {
        guard let sns = context.services.push.sns else { return }
        let replaced = try context.store.withSession { session in
            try session.pushSubscriptions(
                replacedBy: registration.token, of: caller.userID, on: caller.device)
        }
        let client = PushClient(transport: context.transport, deadline: context.deadline)
        for arn in Set(replaced) where arn != registration.subscriptionARN {
            try sns.unsubscribe(arn, through: client)
        }
    }
}

extension RegisterPushNotificationTokenRequest: ServedRequest {
    typealias Handler = RegisterPushNotificationTokenEndpoint
}

/// The outbox work that notifies people about changes.
///
/// Best effort: a notification that cannot be delivered within an hour is dropped. A device is notified again only if
/// the outcome is unknown, with the same identifier, so that the second notification replaces the first.
struct PushWork: Sendable {
    /// How long after the change a push is still attempted, in seconds.
    static let patienceSeconds: Int64 = 3_600
    /// How long a service may keep a notification for a device that is off, in seconds.
    private static let shelfLifeSeconds: Int64 = 86_400
    private static let itemTime: Duration = .seconds(30)

    let store: MetadataStore
    let services: PushServices
    let leaseOwner: String
    let now: @Sendable () -> WireDate

    /// Whether a push is too old to be sent at `time`.
    func isStale(_ order: PushOrder, at time: WireDate) -> Bool {
        time.secondsSince1970 - order.orderedAt.secondsSince1970 > Self.patienceSeconds
    }

    /// Removes a topic at SNS.
    /// - Throws: `PushError`.
    func removeTopic(_ topic: String, _ transport: Transport) throws {
        try services.sns?.deleteTopic(topic, through: client(transport))
    }

    /// Sends a push, or splits one for a group.
    /// - Throws: `PushError`, `StoreError`.
    func send(_ order: PushOrder, for item: OutboxItem, _ transport: Transport, _ logger: Logger) throws {
        guard !isStale(order, at: now()) else {
            return logger.warning("Push dropped: too late", metadata: .keyed([.count: "\(item.attempts)"]))
        }
        let client = client(transport)
        switch order.target {
        case .group: try fanOut(item, order, logger)
        case .device(let id): try notify(id, item, order, client, logger)
        case .topic: try publish(item, order, client, logger)
        }
    }

    private func client(_ transport: Transport) -> PushClient {
        PushClient(transport: transport, deadline: .after(Self.itemTime))
    }

    /// From here on each device is a separate piece of work.
    private func fanOut(_ item: OutboxItem, _ order: PushOrder, _ logger: Logger) throws {
        let count = try store.transaction { session in
            try session.fanOut(item, order, by: leaseOwner, at: now())
        }
        logger.debug("Push for a group", metadata: .keyed([.count: "\(count ?? 0)"]))
    }

    private func notify(
        _ id: PushRegistrationID, _ item: OutboxItem, _ order: PushOrder, _ client: PushClient, _ logger: Logger
    ) throws {
        let found = try store.withSession { session in
            try session.pushRegistration(id, of: item.userID, memberOf: order.groupID)
        }
        guard let registration = found, let service = service(for: registration.kind) else {
            return logger.debug("Push dropped: the device no longer exists")
        }
        let address = PushAddress(
            token: registration.token, environment: registration.environment, topic: registration.topic)
        do {
            let used = try service.deliver(notification(item, order), to: address, through: client)
            if used != address, let environment = used.environment, let topic = used.topic {
                try store.transaction { session in
                    try session.record(environment, topic, of: id, withToken: registration.token)
                }
            }
        } catch PushError.gone(let since) {
            let isForgotten = try store.transaction { session in
                try session.forgetPushRegistration(
                    id, withToken: registration.token,
                    unlessRegisteredAfter: since.map { WireDate(secondsSince1970: $0) })
            }
            if isForgotten { logger.info("Device removed: its push service no longer knows it") }
        }
    }

    private func publish(
        _ item: OutboxItem, _ order: PushOrder, _ client: PushClient, _ logger: Logger
    ) throws {
        let found = try store.withSession { session in
            try session.pushTopic(of: item.userID, memberOf: order.groupID)
        }
        guard let topic = found, let sns = services.sns else {
            return logger.debug("Push dropped: the topic no longer exists")
        }
        do {
            _ = try sns.deliver(notification(item, order), to: PushAddress(token: topic), through: client)
        } catch PushError.gone {
            try store.transaction { try $0.forgetPushTopic(topic, of: item.userID) }
            logger.info("Topic removed: SNS no longer knows it")
        }
    }

    private func service(for kind: PushRegistration.Kind) -> (any PushService)? {
        switch kind {
        case .apns: services.apns
        case .fcm: services.fcm
        // Devices at SNS are reached through their user's topic.
        case .sns: nil
        }
    }

    private func notification(_ item: OutboxItem, _ order: PushOrder) -> PushNotification {
        PushNotification(
            origin: "\(item.id.rawValue) \(item.userID) \(order.orderedAt)",
            event: "\(order.groupID) \(order.orderedAt) \(order.text)", text: order.text,
            expiresAt: order.orderedAt.secondsSince1970 + Self.shelfLifeSeconds)
    }
}

extension PushError {
    /// How long the service asks to wait, if it does.
    var retryAfter: Duration? { if case .rateLimited(let retryAfter) = self { retryAfter } else { nil } }

    /// Whether another attempt may succeed before the push is stale; an operator may fix a configuration by then.
    var isTransient: Bool { if case .rejected = self { false } else { true } }
}
