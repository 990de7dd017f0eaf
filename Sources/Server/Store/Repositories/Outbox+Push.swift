internal import MariaDB
public import SyncProtocol

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
