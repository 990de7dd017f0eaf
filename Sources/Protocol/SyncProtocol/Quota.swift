/// Limits on what one user may have, or do within an hour.
///
/// A quota protects the other users of a server from one account. No honest app comes near the default;
/// docs/adr/0038-quotas.md explains how each default was chosen.
public enum Quota: String, CaseIterable, Sendable {
    // What a user has: waiting does not help, but removing something does.
    case devices
    /// Sharing groups that the user is a member of.
    case groups
    /// Invitations that the user has created, and that are neither used up nor expired.
    case openInvitations
    /// Uncommitted changes, on all devices and in all groups.
    case stagedChanges
    /// Bytes of metadata in those changes; the files' contents are in people's own storage.
    case stagedBytes

    // What a user does within an hour: a retry may succeed when the hour is over.
    case groupsPerHour
    case invitationsPerHour
    /// Authorization codes and tokens that the server sends to their provider with its own client id.
    case codeExchangesPerHour
    /// Registrations for push notifications, each of which may create resources at Amazon.
    case pushRegistrationsPerHour
    /// Account switches begun; each causes the server to test somebody's storage.
    case accountSwitchesPerHour

    /// The limit unless the operator configures another.
    public var defaultLimit: Int {
        switch self {
        case .devices, .groups: 1_000
        case .openInvitations: 500
        case .stagedChanges: 25_000
        case .stagedBytes: 64 << 20
        case .groupsPerHour, .invitationsPerHour: 250
        case .codeExchangesPerHour, .pushRegistrationsPerHour: 120
        case .accountSwitchesPerHour: 10
        }
    }

    /// Whether it limits actions per hour, rather than existing items.
    public var isHourly: Bool {
        switch self {
        case .devices, .groups, .openInvitations, .stagedChanges, .stagedBytes: false
        case .groupsPerHour, .invitationsPerHour, .codeExchangesPerHour, .pushRegistrationsPerHour,
            .accountSwitchesPerHour:
            true
        }
    }
}

/// The limits of one server.
public struct Quotas: Equatable, Sendable {
    private var limits: [Quota: Int]

    private init(_ limits: [Quota: Int]) { self.limits = limits }

    /// Each limit at its default.
    public static let standard = Quotas(Dictionary(uniqueKeysWithValues: Quota.allCases.map { ($0, $0.defaultLimit) }))
    /// No limits.
    public static let unlimited = Quotas([:])

    /// The limit, or `nil`.
    public subscript(quota: Quota) -> Int? {
        get { limits[quota] }
        set { limits[quota] = newValue }
    }
}
