import ArgumentParser
import Operations
import Posix
import Store

/// The certificate authority that `syncctl setup --trial` makes.
struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authority", abstract: "The certificate authority of this host's own, for a trial.",
        discussion: """
            `syncctl setup --trial` makes it, in /var/lib/syncd/authority: for a server without a name in DNS and without Let's \
            Encrypt. Its key can sign certificates for this server's name alone. Programs and phones that are to reach the \
            server have to trust it.
            """,
        subcommands: [Show.self, Trust.self, Distrust.self, Renew.self], defaultSubcommand: Show.self)

    /// The authority of the host that nginx's site is for.
    struct Place: ParsableArguments {
        @Option(help: ArgumentHelp("The folder that stands for /.", valueName: "folder"), completion: .directory)
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
                "nginx's site has no certificate of such an authority: \(HostedApp.current.command) setup --trial makes one"
            )
        }

        /// Also those of former trials: for another name, or before there was another certificate.
        func all() throws -> [LocalAuthority] {
            let all = try LocalAuthority.all(root: prefix)
            return all.isEmpty ? [try authority()] : all
        }

        /// - Throws: what a person can read, if a step fails.
        func act(_ body: () throws -> Void) throws {
            guard Terminal.isRoot || !root.isEmpty else {
                throw CommandFailure(.noPermission, "it must be run by root")
            }
            do { try body() } catch let failure as SetupFailure {
                throw CommandFailure(.foundSomething, failure.sentence)
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Says what a phone needs to trust it.")

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
                    ? "Programs on this host trust it; to take that back: syncctl authority distrust"
                    : "Programs on this host do not trust it: syncctl authority trust, or curl --cacert \(authority.rootFile)",
                "",
                "A phone needs a copy of that file, as root.crt, and must find \(authority.host) at this host, for instance by",
                "the router's DNS.",
                "  iPhone, iPad: open the file (AirDrop, mail); Settings > General > VPN & Device Management: install the profile;",
                "    Settings > General > About > Certificate Trust Settings: switch it on",
                "  Android: Settings > Security > Encryption & credentials > Install a certificate > CA certificate. Apps trust it",
                "    only if their network security configuration has <certificates src=\"user\" />",
                "Remove it there when the trial is over.",
            ]
            Output.write(lines.map(AppText().named))
        }
    }

    struct Trust: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets programs on this host trust it, and find the server's name.",
            discussion: """
                By /usr/local/share/ca-certificates and update-ca-certificates(8); and by a line in /etc/hosts if nothing else \
                knows the name.
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
            abstract: "Takes back what trust did, or setup with it.",
            discussion: "Also of a trial that is over, or was for another name.")

        @OptionGroup var place: Place

        func run() throws {
            try place.act { for authority in try place.all() { try authority.withdraw() } }
        }
    }

    struct Renew: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a new certificate if the present one ends within 60 days.",
            discussion: """
                For syncd-authority.timer. Who trusts the authority trusts the new certificate, too. After ten years the \
                authority itself is replaced.
                """)

        @OptionGroup var place: Place

        func run() throws {
            // The trial is over, and the timer still there.
            guard let authority = place.inUse else { return }
            try place.act {
                guard !authority.hasCertificate else { return }
                let isTrusted = authority.isTrustedHere
                let isNew = try authority.issue()
                // First of all, nginx serves a certificate that has not ended.
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
