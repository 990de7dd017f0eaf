import Operations
import Providers
import SyncProtocol

/// What was set up last time, as far as answers are defaults of the next time. It is what the host's own files say, so
/// that it cannot differ from them.
struct LastSetup {
    /// `nil` if nginx has no site of this server.
    var site: SitePresence?
    /// `nil` if there is no configuration.
    var configuration: HostState.Configuration?

    /// Whether there is nothing that has to be asked for.
    var isComplete: Bool { configuration != nil && site?.host != nil }

    /// Takes over what the answers leave open.
    func complete(_ answers: inout SetupAnswers, certificateIsOpen: Bool) {
        if answers.host.isEmpty, let host = site?.host { answers.host = host }
        if answers.balancers == nil { answers.balancers = site?.balancers }
        if certificateIsOpen, let certificate = site?.certificate { answers.certificate = certificate }
    }

    /// The services in use, by the names that `syncctl setup` has for them.
    var services: [String] { Self.offers.filter { has($0.settings) }.map(\.name) }

    func has(_ settings: [Setting]) -> Bool { settings.contains { configuration?.values[$0.key] != nil } }

    /// All services that setup asks for.
    static let offers: [(name: String, settings: [Setting])] =
        Company.signIns.map { ($0.accountType.rawValue, $0.settings) }
        + Company.pushes.map { ($0.section, $0.settings) }
}
