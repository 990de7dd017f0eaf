import Configuration
import Operations
import Posix
import Providers
import Store
import SyncProtocol

/// Asks the person at the terminal for the settings that the options leave open. Each answer is checked at once; a
/// wrong one is explained and the question repeated. The value in brackets replaces an empty answer.
struct SetupQuestions {
    /// The menu's entry besides the services.
    private static let hostChange = "host"
    private static let certificateChange = "certificate"

    /// Checks the answers, and keeps secrets that are typed in.
    private(set) var check: SetupCheck
    private let last: LastSetup
    private let otherApps: [OtherApp]
    /// Whether units can be started, and certbot can be run.
    private let isRunningHost: Bool
    /// `nil` if nginx's configuration does not set it.
    private let nginxConnections: Int?
    private let hasNchan: Bool

    init(
        _ check: SetupCheck, last: LastSetup, otherApps: [OtherApp], isRunningHost: Bool, nginxConnections: Int?,
        hasNchan: Bool
    ) {
        self.check = check
        self.last = last
        self.otherApps = otherApps
        self.isRunningHost = isRunningHost
        self.nginxConnections = nginxConnections
        self.hasNchan = hasNchan
    }

    /// Asks for all settings on a new host. On a host that is set up, asks what to change, unless the options specify
    /// it.
    /// - Parameters:
    ///   - certificateIsOpen: whether the options name no certificate.
    ///   - isChange: whether the options specify what to change.
    mutating func complete(_ answers: inout SetupAnswers, certificateIsOpen: Bool, isChange: Bool) throws {
        var services: Set<String> = []
        var asksForHost = answers.host.isEmpty
        var asksForCertificate = certificateIsOpen
        if last.isComplete {
            let changes = isChange ? [] : try askForChanges()
            services = changes.subtracting([Self.hostChange, Self.certificateChange])
            asksForHost = changes.contains(Self.hostChange)
            asksForCertificate = changes.contains(Self.certificateChange)
        }
        if asksForHost { try askForHost(&answers, isTrial: answers.certificate == .ownAuthority) }
        last.complete(&answers, certificateIsOpen: certificateIsOpen && !asksForCertificate)
        if asksForCertificate { try askForCertificate(&answers) }
        if certificateIsOpen { try keepFitting(&answers) }
        if answers.certificate == .ownAuthority, !answers.trustsOwnAuthority, last.site?.certificate != .ownAuthority {
            answers.trustsOwnAuthority = try confirm(
                "Let programs on this host trust the authority that signs it, and resolve \(answers.host) if DNS does "
                    + "not: yes or no")
        }
        if answers.certificate == .letsEncrypt, answers.certificateRequest == nil { try offerCertbot(&answers) }
        if last.configuration == nil {
            if !answers.hasStorage { try askForAccounts(&answers) }
            if !answers.hasPush, answers.sandbox == nil { try askForPush(&answers) }
            if let nginxConnections, nginxConnections < SetupPlan.leastConnections, !answers.raisesNginxConnections {
                answers.raisesNginxConnections = try confirm(
                    "Let each nginx process accept \(SetupPlan.leastConnections) connections instead of "
                        + "\(nginxConnections), in \(SetupPaths.nginxConfiguration): yes or no")
            }
            if hasNchan, !answers.passesSignals {
                answers.passesSignals = try confirm(
                    "Let clients learn of changes at once, through nginx's module nchan: yes or no")
            }
            if isRunningHost, !answers.makesBackups {
                answers.makesBackups = try confirm("Make a backup every hour: yes or no")
            }
        }
        for offer in LastSetup.offers where services.contains(offer.name) { try ask(offer.settings, &answers) }
    }

    // MARK: Host and certificate

    private func askForChanges() throws -> Set<String> {
        let host = last.site?.host ?? ""
        Output.write(["This is \(host), with: \(last.services.joined(separator: ", "))."])
        let known = [Self.hostChange, Self.certificateChange] + LastSetup.offers.map(\.name)
        Output.write(["You can change or add: \(known.joined(separator: ", "))."])
        while true {
            var changes: Set<String> = []
            var unknown: [String] = []
            for word in try ask("Changes, separated by blanks [nothing]: ").split(separator: " ") {
                if let name = known.first(where: { $0.lowercased() == word.lowercased() }) {
                    changes.insert(name)
                } else {
                    unknown.append(String(word))
                }
            }
            if unknown.isEmpty || unknown == ["nothing"] { return changes }
            for word in unknown {
                let hint = Spelling.suggestion(for: word, among: known).map { "; did you mean \($0)?" } ?? ""
                Output.write(["\(word) is not in this list\(hint)"])
            }
        }
    }

    private func askForHost(_ answers: inout SetupAnswers, isTrial: Bool) throws {
        let example = "\(HostedApp.current.name ?? "sync").example.com"
        answers.host = try ask(
            isTrial ? "The name of this server" : "The DNS name by which phones will reach this server",
            example: example,
            standard: last.site?.host ?? (isTrial ? example : nil)
        ) { text in
            (SetupAnswers.objection(toHost: text) ?? OtherApp.objection(toHost: text, among: otherApps)).map {
                "it \($0)"
            }
        }
    }

    private func askForCertificate(_ answers: inout SetupAnswers) throws {
        var present: (certificate: String, key: String)?
        if case .files(let certificate, let key)? = last.site?.certificate { present = (certificate, key) }
        let none = "letsencrypt"
        let trial = "trial"
        let host = answers.host
        let check = check
        let file = try ask(
            "File of its certificate with chain, or \(none) for one from Let's Encrypt, or \(trial) for one from this "
                + "host's own authority",
            standard: present?.certificate ?? (last.site?.certificate == .ownAuthority ? trial : none)
        ) { text in
            text == none || text == trial ? nil : check.objections(toCertificate: text, key: nil, host: host).first
        }
        guard file != none, file != trial else {
            answers.certificate = file == none ? .letsEncrypt : .ownAuthority
            return
        }
        let key = try ask(
            "File of the certificate's key", standard: file == present?.certificate ? present?.key : nil
        ) { text in check.objections(toCertificate: file, key: text, host: host).first }
        answers.certificate = .files(certificate: file, key: key)
    }

    /// The certificate of the last setup may not be for the new host name.
    private func keepFitting(_ answers: inout SetupAnswers) throws {
        guard case .files(let certificate, let key) = answers.certificate else { return }
        let objections = check.objections(toCertificate: certificate, key: key, host: answers.host)
        guard !objections.isEmpty else { return }
        Output.write(objections)
        try askForCertificate(&answers)
    }

    private func offerCertbot(_ answers: inout SetupAnswers) throws {
        let files = SiteText.files(of: .letsEncrypt, host: answers.host)
        guard isRunningHost, AtomicFile.exists(SetupHost.certbot), !AtomicFile.exists(files.certificate) else { return }
        let question =
            "Obtain the certificate now with certbot, and agree to the terms at https://letsencrypt.org/repository/: "
            + "yes or no"
        guard try confirm(question) else { return }
        let address = try ask(
            "An email address for Let's Encrypt's notices, or none", example: "you@example.com", standard: "none"
        ) { text in text == "none" || text.contains("@") ? nil : "it must be an email address, or none" }
        answers.certificateRequest = SetupAnswers.CertificateRequest(mailAddress: address == "none" ? nil : address)
    }

    /// Whether the answer is yes; an empty answer means yes.
    private func confirm(_ question: String) throws -> Bool {
        try ask(question, standard: "yes") { text in
            ["yes", "no"].contains(text) ? nil : "it must be yes or no"
        } == "yes"
    }

    // MARK: Services

    private mutating func askForAccounts(_ answers: inout SetupAnswers) throws {
        while true {
            Output.write(["Which accounts can people sign in with? An empty answer skips a provider."])
            for offer in Company.signIns { try ask(offer.settings, &answers) }
            if answers.hasStorage { return }
            let names = Company.signIns.filter { $0.storage != nil }.map(\.accountType.rawValue)
            Output.write(["At least one provider with storage is required: \(names.joined(separator: ", "))."])
        }
    }

    private mutating func askForPush(_ answers: inout SetupAnswers) throws {
        Output.write(["Which services notify phones of changes? An empty answer skips a service."])
        for offer in Company.pushes { try ask(offer.settings, &answers) }
    }

    /// Asks for the settings of one service, unless the first answer is empty. Existing settings are the defaults.
    private mutating func ask(_ settings: [Setting], _ answers: inout SetupAnswers) throws {
        var isFirst = true
        for setting in settings {
            guard let question = setting.question else { continue }
            let present = last.configuration?.values[setting.key]
            guard let answer = try answer(to: question, about: setting, present: present, mayBeEmpty: isFirst) else {
                return
            }
            isFirst = false
            answers.settings[setting.key] = answer
        }
    }

    /// - Returns: `nil` if the service is skipped.
    private mutating func answer(
        to question: SetupQuestion, about setting: Setting, present: SetupAnswers.Answer?, mayBeEmpty: Bool
    ) throws -> SetupAnswers.Answer? {
        let prompt = Self.prompt(question.text, example: question.form?.example, standard: Self.standard(present))
        while true {
            let isHidden = if case .hidden = question.answer { true } else { false }
            let text = try ask(prompt, isHidden: isHidden)
            if text.isEmpty {
                if let present { return present }
                if mayBeEmpty { return nil }
                if question.answer == .list { return .list([]) }
            }
            var answer = SetupAnswers.Answer(text, to: question, givenBy: "the answer")
            if case .hidden(let name) = question.answer {
                check.secrets.typed[name] = Secret(text)
                answer = .secret(.typed(name))
            }
            guard let objection = check.objection(to: answer, about: setting, givenBy: "the answer") else {
                return answer
            }
            Output.write([Self.again(objection)])
        }
    }

    /// The meaning of an empty answer, as shown in brackets.
    private static func standard(_ present: SetupAnswers.Answer?) -> String? {
        switch present {
        case .text(let text): text
        case .list(let texts): texts.isEmpty ? "none" : texts.joined(separator: " ")
        case .secret: "the current one"
        case nil: nil
        }
    }

    // MARK: Asking

    private static func prompt(_ text: String, example: String?, standard: String?) -> String {
        if let standard { return "\(text) [\(standard)]: " }
        return example.map { "\(text) (e.g. \($0)): " } ?? "\(text): "
    }

    private static func again(_ objection: String) -> String { "  \(objection). Try again:" }

    /// Asks until there is no objection.
    private func ask(
        _ text: String, example: String? = nil, standard: String? = nil, objection: (String) -> String?
    ) throws -> String {
        while true {
            let line = try ask(Self.prompt(text, example: example, standard: standard))
            let answer = line.isEmpty ? standard ?? "" : line
            guard let found = objection(answer) else { return answer }
            Output.write([Self.again(found)])
        }
    }

    private func ask(_ prompt: String, isHidden: Bool = false) throws -> String {
        guard let line = Terminal.ask(prompt, isHidden: isHidden) else {
            throw SetupFailure("the input ended before all questions were answered; nothing was changed")
        }
        var answer = line[...]
        while answer.first == " " { answer.removeFirst() }
        while answer.last == " " { answer.removeLast() }
        return String(answer)
    }
}

/// The settings of the last setup that serve as defaults of the next one. They are read from the host's own files, so
/// that they cannot differ from them.
struct LastSetup {
    /// `nil` if nginx has no site of this server.
    var site: SitePresence?
    /// `nil` without a configuration.
    var configuration: HostState.Configuration?

    /// Whether there is nothing to ask.
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
