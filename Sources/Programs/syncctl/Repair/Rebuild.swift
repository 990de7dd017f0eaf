import ArgumentParser
import Configuration
import OpenSSLCrypto
import Operations
import Store
import SyncProtocol

/// Rebuilds the server from the manifests in owners' folders.
struct Rebuild: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Rebuilds a lost database, or updates a restored one, from the manifests in owners' folders.",
        discussion: """
            When an owner opens the app, the server reads their folder, and restores the groups in which they own files. \
            A person's requests get 503 with Retry-After until the server has read their folder, a manifest contains \
            their account, and all their groups are restored. Members can read a group when one owner has returned, and \
            change it when all owners of its files have. No device deletes anything. New people can sign up after the \
            end.
            """,
        subcommands: [Begin.self, Status.self, Finish.self, End.self], defaultSubcommand: Status.self)

    struct Begin: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begins a rebuild, or trusts manifests without a known signature.",
            discussion: """
                The database must be empty, or restored from a backup and not opened since. Manifests are trusted if \
                one of the present sealing key's or of the database's public keys has signed them, or one given with \
                --key. If all keys are lost, people's manifests are listed by syncctl rebuild status; --trust-unsigned \
                --group then trusts those of one group that are listed there. Anybody who can write to a folder could \
                have written them, so compare names and numbers with what you know.
                """)

        @OptionGroup var options: CommonOptions
        @Flag(help: "Trusts the listed manifests of the groups given with --group, without a known signature.")
        var trustUnsigned = false
        @Option(help: ArgumentHelp("With --trust-unsigned: the group with this UUID.", valueName: "uuid"))
        var group: [String] = []
        @Option(
            help: ArgumentHelp(
                "A public key of the lost server, as /.well-known or its manifests contain it.", valueName: "base64url")
        )
        var key: [String] = []
        @Option(
            help: ArgumentHelp(
                "The folder in people's Google Drive or WebDAV storage, if the app always uses the same.",
                valueName: "name"))
        var folder: String?
        @Flag(
            help: """
                Serves nobody before the end, so that no device sees a list without a group whose owners have not \
                returned.
                """)
        var hold = false

        func validate() throws {
            guard trustUnsigned == !group.isEmpty else {
                throw ValidationError("--trust-unsigned requires --group, and --group requires --trust-unsigned.")
            }
            guard !trustUnsigned || (key.isEmpty && folder == nil && !hold) else {
                throw ValidationError("--trust-unsigned excludes --key, --folder and --hold: begin first.")
            }
            for text in key where GroupManifest.publicKey(text) == nil {
                throw ValidationError("“\(text)” is not a public key.")
            }
        }

        func report() throws -> any Report {
            let installation = try Installation(options)
            let control = RebuildControl(store: installation.store)
            return try Rebuild.reporting(control) {
                if trustUnsigned {
                    for group in group { try control.trust(Installation.group(group), at: installation.now) }
                    return
                }
                let present = try installation.keys().current.manifestKey().publicKey
                // This comes first, because the jobs role needs more rights as soon as people return.
                try RoleAccounts.settle(installation.configuration, isRebuilding: true)
                // Revokes the rights if no rebuild was begun.
                defer { _ = try? RoleAccounts.settle(installation.configuration) }
                try control.begin(
                    keys: [present] + key.compactMap { GroupManifest.publicKey($0) }, cloudFolderName: folder,
                    holdsEveryone: hold, at: installation.now)
            }
        }
    }

    struct Status: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows which groups are back, who is missing, and which manifests have no known signature.")

        @OptionGroup var options: CommonOptions

        func report() throws -> any Report {
            try RebuildControl(store: Installation(options, secrets: .ofDatabase).store).status()
        }
    }

    struct Finish: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Opens a group to changes, although owners are missing.",
            discussion: """
                If the group is not restored, its members no longer wait for it, and their devices see that it is gone. \
                Files of missing owners stay listed; their contents are unavailable until the owners return. A group is \
                diverged if people changed it here before the server found a newer manifest: then this keeps the state \
                here, or with --newest replaces it by the newer state, and devices upload what they have changed since.
                """)

        @OptionGroup var options: CommonOptions
        @Option(help: ArgumentHelp("The group with this UUID.", valueName: "uuid")) var group: String
        @Flag(help: "Replaces the state of a diverged group by that of the newest manifest.") var newest = false

        func report() throws -> any Report {
            let installation = try Installation(options, secrets: .ofDatabase)
            let control = RebuildControl(store: installation.store)
            return try Rebuild.reporting(control) {
                try control.finish(Installation.group(group), takesNewest: newest, at: installation.now)
            }
        }
    }

    struct End: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ends the rebuild: opens all groups, and lets unknown people sign up.",
            discussion: """
                Members who return later still get their places in restored groups. Groups that are not restored stay \
                lost.
                """)

        @OptionGroup var options: CommonOptions
        @Flag(help: "Also if folders have not been read, whose owners count as unknown, or if groups are missing.")
        var force = false

        func report() throws -> any Report {
            let installation = try Installation(options)
            let control = RebuildControl(store: installation.store)
            return try Rebuild.reporting(control) {
                try control.end(isForced: force, at: installation.now)
                try RoleAccounts.settle(installation.configuration, isRebuilding: false)
            }
        }
    }

    /// Executes the operator's command, and reports the resulting state.
    private static func reporting(_ control: RebuildControl, _ body: () throws -> Void) throws -> any Report {
        do { try body() } catch let failure as RebuildControl.Failure {
            throw CommandFailure(.foundSomething, "\(failure)")
        }
        return try control.status()
    }
}
