/// What one user may have, or do within an hour, before the server refuses more.
///
/// A quota protects the others on a server from one account. Its default is what no honest app comes near;
/// docs/adr/0038-quotas.md says how each was chosen.
public enum Quota: String, CaseIterable, Sendable {
    // What a user has: waiting does not help, giving something up does.
    case devices
    /// Sharing groups that the user is a member of.
    case groups
    /// Invitations that the user has made, and that are neither used up nor expired.
    case openInvitations
    /// Changes that wait for their commit, on all devices and in all groups.
    case stagedChanges
    /// Bytes of metadata in those changes; the files' own bytes lie in people's storage.
    case stagedBytes

    // What a user does within an hour: it may be repeated when the hour is over.
    case groupsPerHour
    case invitationsPerHour
    /// Authorization codes and tokens that the server sends to their provider with its own client id.
    case codeExchangesPerHour
    /// Registrations for push notifications, each of which may make things at Amazon.
    case pushRegistrationsPerHour

    /// For servers whose operator says nothing about it.
    public var defaultLimit: Int {
        switch self {
        case .devices, .groups: 1_000
        case .openInvitations: 500
        case .stagedChanges: 25_000
        case .stagedBytes: 64 << 20
        case .groupsPerHour, .invitationsPerHour: 250
        case .codeExchangesPerHour, .pushRegistrationsPerHour: 120
        }
    }

    /// Whether it limits what is done in an hour, not what is there.
    public var isHourly: Bool {
        switch self {
        case .devices, .groups, .openInvitations, .stagedChanges, .stagedBytes: false
        case .groupsPerHour, .invitationsPerHour, .codeExchangesPerHour, .pushRegistrationsPerHour: true
        }
    }
}

/// The limits of one server.
public struct Quotas: Equatable, Sendable {
    private var limits: [Quota: Int]

    private init(_ limits: [Quota: Int]) { self.limits = limits }

    /// Each at its default.
    public static let standard = Quotas(Dictionary(uniqueKeysWithValues: Quota.allCases.map { ($0, $0.defaultLimit) }))
    /// Anything goes.
    public static let unlimited = Quotas([:])

    /// The limit; `nil` if there is none.
    public subscript(quota: Quota) -> Int? {
        get { limits[quota] }
        set { limits[quota] = newValue }
    }
}
