import ArgumentParser
import Operations
import Posix
import Store

/// The certificate authority that `syncctl setup --trial` creates.
struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authority", abstract: "Manages this host's own certificate authority, for a trial.",
        discussion: """
            `syncctl setup --trial` creates it in /var/lib/syncd/authority, for a server without a DNS name and \
            without Let's Encrypt. Its key can sign certificates only for this server's name. Programs and phones must \
            trust it to reach the server.
            """,
        subcommands: [Show.self, Trust.self, Distrust.self, Renew.self], defaultSubcommand: Show.self)

    /// The authority of the host that nginx's site serves.
    struct Place: ParsableArguments {
        @Option(help: ArgumentHelp("The folder to use as /.", valueName: "folder"), completion: .directory)
        var root = ""

        private var prefix: String { root == "/" ? "" : root }

        /// `nil` if that host has another certificate.
        var inUse: LocalAuthority? {
            let host = SetupHost(root: prefix, administrator: nil)
            let site = host.text(of: SetupPaths.site).map(SitePresence.init)
            guard let name = site?.host, site?.certificate == .ownAuthority else { return nil }
            return LocalAuthority(root: host.root, host: name)
        }

        func authority() throws -> LocalAuthority {
            if let inUse { return inUse }
            throw CommandFailure(
                .foundSomething,
                "nginx's site has no certificate from such an authority: \(HostedApp.current.command) setup --trial "
                    + "creates one"
            )
        }

        /// Includes authorities of former trials: for another name, or before another certificate replaced theirs.
        func all() throws -> [LocalAuthority] {
            let all = try LocalAuthority.all(root: prefix)
            return all.isEmpty ? [try authority()] : all
        }

        /// - Throws: a readable error if a step fails.
        func act(_ body: () throws -> Void) throws {
            guard Terminal.isRoot || !root.isEmpty else {
                throw CommandFailure(.noPermission, "this requires root")
            }
            do { try body() } catch let failure as SetupFailure {
                throw CommandFailure(.foundSomething, failure.sentence)
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Explains how to make a phone trust it.")

        @OptionGroup var place: Place

        func run() throws {
            let authority = try place.authority()
            guard let fingerprint = authority.fingerprint else {
                throw CommandFailure(.foundSomething, "\(authority.rootFile) cannot be read")
            }
            let lines = [
                "The authority of \(authority.host) is \(authority.rootFile), with the SHA-256",
                "  \(fingerprint)",
                authority.isTrustedHere
                    ? "Programs on this host trust it; to undo that: syncctl authority distrust"
                    : "Programs on this host do not trust it: syncctl authority trust, or curl --cacert "
                        + "\(authority.rootFile)",
                "",
                "A phone needs a copy of that file, named root.crt, and must resolve \(authority.host) to this host, "
                    + "for example",
                "through the router's DNS.",
                "  iPhone, iPad: open the file (AirDrop, mail); Settings > General > VPN & Device Management: install "
                    + "the profile;",
                "    Settings > General > About > Certificate Trust Settings: switch it on",
                "  Android: Settings > Security > Encryption & credentials > Install a certificate > CA certificate. "
                    + "Apps trust it",
                "    only if their network security configuration has <certificates src=\"user\" />",
                "Remove it from the phone after the trial.",
            ]
            Output.write(lines.map(AppText().named))
        }
    }

    struct Trust: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes programs on this host trust it, and resolve the server's name.",
            discussion: """
                Uses /usr/local/share/ca-certificates and update-ca-certificates(8), and adds a line to /etc/hosts if \
                the name does not resolve otherwise.
                """)

        @OptionGroup var place: Place

        func run() throws {
            try place.act {
                let authority = try place.authority()
                try authority.trust()
                if !authority.isNameKnown { try authority.makeNameKnown() }
            }
        }
    }

    struct Distrust: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Undoes trust, whether this command or setup did it.",
            discussion: "Includes trials that are over or were for another name.")

        @OptionGroup var place: Place

        func run() throws {
            try place.act { for authority in try place.all() { try authority.withdraw() } }
        }
    }

    struct Renew: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Issues a new certificate if the current one expires within 60 days.",
            discussion: """
                For syncd-authority.timer. Devices that trust the authority also trust the new certificate. After ten \
                years, the authority itself is replaced.
                """)

        @OptionGroup var place: Place

        func run() throws {
            // The trial is over, but the timer still exists.
            guard let authority = place.inUse else { return }
            try place.act {
                guard !authority.hasCertificate else { return }
                let isTrusted = authority.isTrustedHere
                let isNew = try authority.issue()
                // First, nginx must serve a certificate that has not expired.
                if authority.root.isEmpty { try letNginxRead() }
                if isNew, isTrusted { try authority.trust() }
            }
        }

        private func letNginxRead() throws {
            let outcome = try ChildProcess.run(["systemctl", "try-reload-or-restart", "nginx.service"])
            guard outcome.status == 0 else {
                throw SetupFailure("nginx does not read the new certificate: \(outcome.output)")
            }
        }
    }
}
