/// Limits on what one user may have, or do within an hour, before the server refuses more.
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
    /// Changes that wait to be committed, on all devices and in all groups.
    case stagedChanges
    /// Bytes of metadata in those changes; the files' contents are in people's own storage.
    case stagedBytes

    // What a user does within an hour: it may be retried when the hour is over.
    case groupsPerHour
    case invitationsPerHour
    /// Authorization codes and tokens that the server sends to their provider with its own client id.
    case codeExchangesPerHour
    /// Registrations for push notifications, each of which may create resources at Amazon.
    case pushRegistrationsPerHour
    /// Account switches that are begun; each makes the server use somebody's storage on trial.
    case accountSwitchesPerHour

    /// The limit unless the operator configures another one.
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

    /// Whether it limits what is done in an hour, rather than what exists.
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

    /// The limit; `nil` if there is none.
    public subscript(quota: Quota) -> Int? {
        get { limits[quota] }
        set { limits[quota] = newValue }
    }
}
