import MariaDB
import OpenSSLCrypto
public import SyncProtocol

/// The number of a device's registration for push notifications.
public struct PushRegistrationID: Hashable, Sendable {
    public let rawValue: Int64
    init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The address at which a device receives push notifications.
public struct PushRegistration: Equatable, Sendable {
    /// The service that delivers them.
    public enum Kind: String, Equatable, Sendable {
        case apns
        case fcm
        /// Amazon's service, which forwards to Apple's; SyncServerII used it.
        case sns
    }

    public var kind: Kind
    /// APNs only; `nil` while it is unknown.
    public var environment: PushNotificationEnvironment?
    /// APNs only: the app's bundle identifier; `nil` while it is unknown.
    public var topic: String?
    public var token: String
    /// SNS only: the device's endpoint, and its subscription to its user's topic.
    public var endpointARN: String?
    public var subscriptionARN: String?

    public init(
        kind: Kind, token: String, environment: PushNotificationEnvironment? = nil, topic: String? = nil,
        endpointARN: String? = nil, subscriptionARN: String? = nil
    ) {
        self.kind = kind
        self.topic = topic
        self.token = token
        self.environment = environment
        self.endpointARN = endpointARN
        self.subscriptionARN = subscriptionARN
    }
}

extension PushRegistration {
    /// The columns of `push_registrations` that ``init(_:)`` reads.
    static let columns: ColumnList = ["kind", "environment", "topic", "token", "endpoint_arn", "subscription_arn"]

    init(_ row: borrowing Row) throws(StoreError) {
        kind = try row.word("kind")
        environment = try row.optionalWord("environment")
        topic = try row.optionalString("topic")
        token = try row.string("token")
        endpointARN = try row.optionalString("endpoint_arn")
        subscriptionARN = try row.optionalString("subscription_arn")
    }

    /// The values that a statement writes into the ``columns``.
    var columnValues: ColumnValues {
        [
            "kind": .text(kind.rawValue), "environment": .text(orNull: environment?.rawValue),
            "topic": .text(orNull: topic), "token": .text(token),
            "endpoint_arn": .text(orNull: endpointARN), "subscription_arn": .text(orNull: subscriptionARN),
        ]
    }
}

extension StoreSession {
    /// Registers a device, replacing its previous registration; the token is removed from any other device.
    ///
    /// Call after ``holdUser(_:)`` in the same transaction.
    public mutating func register(
        _ registration: PushRegistration, of userID: UserID, on device: DeviceUUID, at now: WireDate
    ) throws(StoreError) {
        let hash = Self.hash(registration.token)
        let identity: [Value] = [.int(userID.rawValue), .text(device.rawValue)]
        try execute(
            "DELETE FROM push_registrations WHERE token_hash = ? AND NOT (user_id = ? AND device_uuid = ?)",
            [.bytes(hash)] + identity)
        let row = registration.columnValues + ["token_hash": .bytes(hash), "registered_at": .date(now)]
        // The number does not change, so that a push in progress still finds the device.
        try execute(
            """
            INSERT INTO push_registrations (user_id, device_uuid, \(row.columns))
            VALUES (?, ?, \(valuesOf: row.columns))
                ON DUPLICATE KEY UPDATE \(assigning: row.columns)
            """,
            identity + row.values + row.values)
    }

    /// The SNS subscriptions that a registration of `token` makes obsolete: those of other devices or users with the
    /// token, and that of the device's previous registration.
    public mutating func pushSubscriptions(
        replacedBy token: String, of userID: UserID, on device: DeviceUUID
    ) throws(StoreError) -> [String] {
        let identity: [Value] = [.int(userID.rawValue), .text(device.rawValue)]
        return try all(
            """
            SELECT subscription_arn
              FROM push_registrations
             WHERE token_hash = ?
               AND NOT (user_id = ? AND device_uuid = ?)
               AND subscription_arn IS NOT NULL
             UNION ALL
            SELECT subscription_arn
              FROM push_registrations
             WHERE user_id = ?
               AND device_uuid = ?
               AND subscription_arn IS NOT NULL
            """,
            [.bytes(Self.hash(token))] + identity + identity
        ) { row throws(StoreError) in try row.string(0) }
    }

    /// A registration, if it still belongs to that user and they are still a member of the group that the push
    /// concerns.
    public mutating func pushRegistration(
        _ id: PushRegistrationID, of userID: UserID, memberOf groupID: SharingGroupID
    ) throws(StoreError) -> PushRegistration? {
        try first(
            """
            SELECT \(PushRegistration.columns, of: "r")
              FROM push_registrations r
              JOIN memberships m ON m.user_id = r.user_id
             WHERE r.registration_id = ?
               AND r.user_id = ?
               AND m.sharing_group_id = ?
            """,
            [.int(id.rawValue), .int(userID.rawValue), .int(groupID.rawValue)], PushRegistration.init(_:))
    }

    /// Records the APNs environment and app to which a token was found to belong, if the device still has that token.
    public mutating func record(
        _ environment: PushNotificationEnvironment, _ topic: String, of id: PushRegistrationID, withToken token: String
    ) throws(StoreError) {
        try execute(
            "UPDATE push_registrations SET environment = ?, topic = ? WHERE registration_id = ? AND token_hash = ?",
            [.text(environment.rawValue), .text(topic), .int(id.rawValue), .bytes(Self.hash(token))])
    }

    /// Deletes the registration of a device whose token is no longer valid, unless it has registered another token, or
    /// the same one after `moment`.
    /// - Returns: whether it was deleted.
    @discardableResult
    public mutating func forgetPushRegistration(
        _ id: PushRegistrationID, withToken token: String, unlessRegisteredAfter moment: WireDate?
    ) throws(StoreError) -> Bool {
        try execute(
            """
            DELETE FROM push_registrations
             WHERE registration_id = ?
               AND token_hash = ?
               AND (? IS NULL OR registered_at <= ?)
            """,
            [.int(id.rawValue), .bytes(Self.hash(token)), .date(orNull: moment), .date(orNull: moment)]) == 1
    }

    // MARK: Topics

    /// The SNS topic of a user; `nil` if there is none, or if the user is not a member of the group.
    public mutating func pushTopic(
        of userID: UserID, memberOf groupID: SharingGroupID
    ) throws(StoreError) -> String? {
        try first(
            """
            SELECT u.push_topic_arn
              FROM users u
              JOIN memberships m ON m.user_id = u.user_id
             WHERE u.user_id = ?
               AND m.sharing_group_id = ?
               AND u.push_topic_arn IS NOT NULL
            """,
            [.int(userID.rawValue), .int(groupID.rawValue)]
        ) { row throws(StoreError) in try row.string(0) }
    }

    /// Stores the SNS topic of a user.
    public mutating func storePushTopic(_ arn: String, of userID: UserID) throws(StoreError) {
        try execute(
            "UPDATE users SET push_topic_arn = ? WHERE user_id = ?", [.text(arn), .int(userID.rawValue)])
    }

    /// Deletes a topic that no longer exists, with the registrations that it reached.
    public mutating func forgetPushTopic(_ arn: String, of userID: UserID) throws(StoreError) {
        let cleared = try execute(
            "UPDATE users SET push_topic_arn = NULL WHERE user_id = ? AND push_topic_arn = ?",
            [.int(userID.rawValue), .text(arn)])
        guard cleared == 1 else { return }
        try execute(
            "DELETE FROM push_registrations WHERE user_id = ? AND kind = 'sns'", [.int(userID.rawValue)])
    }

    /// Removes all registrations of a user who leaves, and schedules the removal of their topic.
    mutating func removePushRegistrations(of userID: UserID, at now: WireDate) throws(StoreError) {
        let user: [Value] = [.int(userID.rawValue)]
        try execute("DELETE FROM push_registrations WHERE user_id = ?", user)
        try execute(
            """
            INSERT INTO outbox (kind, user_id, object_name, available_at, created_at, request_id)
            SELECT 'removePushTopic', user_id, push_topic_arn, ?, ?, ?
              FROM users
             WHERE user_id = ?
               AND push_topic_arn IS NOT NULL
            """,
            [.date(now), .date(now), requestValue] + user)
    }

    /// Tokens are too long for a key.
    private static func hash(_ token: String) -> [UInt8] { IncrementalDigest.digest(of: Array(token.utf8), .sha256) }
}

/// The text and the recipients of a push notification.
public struct PushOrder: Equatable, Sendable {
    public enum Target: Equatable, Sendable {
        /// All members except the sender: the initial target of every push.
        case group
        /// One device of the row's user.
        case device(PushRegistrationID)
        /// The SNS topic of the row's user.
        case topic
    }

    public var target: Target
    /// The group that the push is about: users who have left it are not notified.
    public var groupID: SharingGroupID
    public var text: String
    /// When the group changed.
    public var orderedAt: WireDate
}

extension StoreSession {
    /// Schedules a notification of the other members of a group.
    public mutating func addPush(
        _ text: String, from sender: UserID, to groupID: SharingGroupID, at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO outbox
                   (kind, user_id, push_target, sharing_group_id, message, available_at, created_at, request_id)
            VALUES ('sendPush', ?, 'group', ?, ?, ?, ?, ?)
            """,
            [
                .int(sender.rawValue), .int(groupID.rawValue), .text(text), .date(now), .date(now), requestValue,
            ])
    }

    /// Schedules a notification of a user's own devices. A push concerns a group: users without one are not notified.
    /// - Parameter device: a device to exclude; an SNS topic notifies it nevertheless.
    public mutating func addPush(
        _ text: String, toDevicesOf userID: UserID, except device: DeviceUUID? = nil, at now: WireDate
    ) throws(StoreError) {
        let values: [Value] = [.text(text), .date(now), .date(now), requestValue, .int(userID.rawValue)]
        try execute(
            """
            INSERT INTO outbox
                   (kind, user_id, push_target, sharing_group_id, registration_id, message, available_at, created_at,
                    request_id)
            SELECT 'sendPush', r.user_id, 'device', MIN(m.sharing_group_id), r.registration_id, ?, ?, ?, ?
              FROM push_registrations r
              JOIN memberships m ON m.user_id = r.user_id
             WHERE r.user_id = ?
               AND r.kind IN ('apns', 'fcm')
               AND NOT r.device_uuid <=> ?
             GROUP BY r.registration_id, r.user_id
            """, values + [.text(orNull: device?.rawValue)])
        try execute(
            """
            INSERT INTO outbox
                   (kind, user_id, push_target, sharing_group_id, message, available_at, created_at, request_id)
            SELECT 'sendPush', u.user_id, 'topic', MIN(m.sharing_group_id), ?, ?, ?, ?
              FROM users u
              JOIN memberships m ON m.user_id = u.user_id
             WHERE u.user_id = ?
               AND u.push_topic_arn IS NOT NULL
             GROUP BY u.user_id
            """, values)
    }

    /// Splits a push for a group into one row per device or topic of the other members, so that each is notified
    /// separately: a notification that was delivered is never delivered again because another one failed. The rows
    /// belong to the same request.
    ///
    /// - Returns: how many rows were inserted; `nil` if `leaseOwner` no longer holds the row; then nothing was done.
    public mutating func fanOut(
        _ item: OutboxItem, _ order: PushOrder, by leaseOwner: String, at now: WireDate
    ) throws(StoreError) -> Int? {
        guard try complete(item.id, by: leaseOwner) else { return nil }
        let values: [Value] = [
            .text(order.text), .date(now), .date(order.orderedAt), .text(orNull: item.requestID),
            .int(order.groupID.rawValue), .int(item.userID.rawValue),
        ]
        let devices = try execute(
            """
            INSERT INTO outbox
                   (kind, user_id, push_target, sharing_group_id, registration_id, message, available_at, created_at,
                    request_id)
            SELECT 'sendPush', m.user_id, 'device', m.sharing_group_id, r.registration_id, ?, ?, ?, ?
              FROM memberships m
              JOIN push_registrations r ON r.user_id = m.user_id
             WHERE m.sharing_group_id = ?
               AND m.user_id <> ?
               AND r.kind IN ('apns', 'fcm')
            """, values)
        let topics = try execute(
            """
            INSERT INTO outbox
                   (kind, user_id, push_target, sharing_group_id, message, available_at, created_at, request_id)
            SELECT 'sendPush', m.user_id, 'topic', m.sharing_group_id, ?, ?, ?, ?
              FROM memberships m
              JOIN users u ON u.user_id = m.user_id
             WHERE m.sharing_group_id = ?
               AND m.user_id <> ?
               AND u.push_topic_arn IS NOT NULL
            """, values)
        return devices + topics
    }
}

extension PushOrder {
    /// `nil` if a row of the outbox is incomplete.
    init?(_ row: borrowing Row) throws(StoreError) {
        guard let groupID = try row.optionalNumber("sharing_group_id"), let text = try row.optionalString("message")
        else { return nil }
        switch (try row.optionalString("push_target"), try row.optionalNumber("registration_id")) {
        case ("group", _): target = .group
        case ("device", let number?): target = .device(PushRegistrationID(number))
        case ("topic", _): target = .topic
        default: return nil
        }
        self.groupID = SharingGroupID(groupID)
        self.text = text
        orderedAt = try row.date("created_at")
    }
}
