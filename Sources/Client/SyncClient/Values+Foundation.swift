public import Foundation
public import SyncProtocol

// Foundation's values instead of texts and numbers of the protocol.

/// An identifier that apps generate.
public protocol GeneratedIdentifier: CasePreservingIdentifier {}

extension GeneratedIdentifier {
    /// Creates a new, random identifier. A test that must be repeatable, such as one with a `SimulatedService`, creates
    /// its identifiers from its own texts instead.
    public init() {
        self.init(UUID())
    }

    /// Creates an identifier from a UUID.
    public init(_ uuid: UUID) {
        guard let identifier = Self(uuid.uuidString) else { preconditionFailure("a UUID must be an identifier") }
        self = identifier
    }
}

extension FileUUID: GeneratedIdentifier {}
extension FileGroupUUID: GeneratedIdentifier {}
extension SharingGroupUUID: GeneratedIdentifier {}
extension DeviceUUID: GeneratedIdentifier {}

extension WireDate {
    /// The date, in whole seconds.
    public var date: Date { Date(timeIntervalSince1970: TimeInterval(secondsSince1970)) }

    /// Creates a date of the protocol, without the fraction of a second; a date outside the years 1 to 9999 becomes the
    /// nearest one within.
    public init(_ date: Date) {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        self.init(secondsSince1970: Int64(exactly: seconds) ?? (seconds < 0 ? .min : .max))
    }
}
