import HTTPTransport
import Providers
import Store
import SyncProtocol

/// Stores the address at which the calling device receives push notifications.
///
/// A repeated request finds or creates the same resources and stores the same row. Any earlier registration of the
/// token, on another device or by another person, ends.
struct RegisterPushNotificationTokenEndpoint: Endpoint {
    func respond(
        to request: RegisterPushNotificationTokenRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        guard !request.pushNotificationToken.isEmpty else {
            throw EndpointError.outOfRange("pushNotificationToken must not be empty")
        }
        let service = try service(for: request.pushNotificationKind, of: context.services.push)
        // Counted in a separate transaction, since Amazon is called before anything else is stored.
        try context.store.transaction { try context.use(.pushRegistrationsPerHour, of: caller.person, in: &$0) }
        switch service {
        case .sns(let sns): try subscribe(request.pushNotificationToken, at: sns, caller, context)
        case .apns:
            guard APNs.isDeviceToken(request.pushNotificationToken) else {
                throw EndpointError.outOfRange("pushNotificationToken must be an even number of hex digits, 2 to 512")
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
        throw EndpointError.pushNotConfigured
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
            guard try session.holdUser(caller.userID) else { throw EndpointError.userUnknown }
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
