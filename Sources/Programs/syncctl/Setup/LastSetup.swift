import Operations
import Providers
import SyncProtocol

/// The settings of the last setup that serve as defaults of the next one. They are read from the host's own files, so
/// that they cannot differ from them.
struct LastSetup {
    /// `nil` if nginx has no site of this server.
    var site: SitePresence?
    /// `nil` without a configuration.
    var configuration: HostState.Configuration?

    /// Whether no question has to be asked.
    var isComplete: Bool { configuration != nil && site?.host != nil }

    /// Fills in what the answers leave open.
    func complete(_ answers: inout SetupAnswers, certificateIsOpen: Bool) {
        if answers.host.isEmpty, let host = site?.host { answers.host = host }
        if answers.balancers == nil { answers.balancers = site?.balancers }
        if certificateIsOpen, let certificate = site?.certificate { answers.certificate = certificate }
    }

    /// The services in use, by the names that `syncctl setup` uses.
    var services: [String] { Self.offers.filter { has($0.settings) }.map(\.name) }

    func has(_ settings: [Setting]) -> Bool { settings.contains { configuration?.values[$0.key] != nil } }

    /// All services that setup asks for.
    static let offers: [(name: String, settings: [Setting])] =
        Company.signIns.map { ($0.accountType.rawValue, $0.settings) }
        + Company.pushes.map { ($0.section, $0.settings) }
}
