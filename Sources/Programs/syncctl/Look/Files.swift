import ArgumentParser
import HTTPTransport
import Operations
import Store
import SyncProtocol

/// Files of groups.
struct Files: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the files of a group, or explains one.",
        subcommands: [FilesList.self, FilesExplain.self])
}

struct FilesList: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the files of a group, sorted by UUID.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var page: PageOptions
    @Argument(help: ArgumentHelp("The group's UUID.", valueName: "group-uuid")) var group: String
    @Option(help: ArgumentHelp("Only files in the storage of the user with this number.", valueName: "number"))
    var owner: Int64?
    @Flag(help: "Only deleted files.") var deleted = false
    @Flag(help: "Only files that are not deleted.") var living = false
    @Option(help: ArgumentHelp("Begin after this file's UUID.", valueName: "file-uuid")) var after: String?

    func validate() throws {
        guard !deleted || !living else { throw ValidationError("--deleted and --living are mutually exclusive.") }
    }

    func report() throws -> any Report {
        let installation = try Installation(options)
        let uuid = try Installation.group(group)
        let filter = FileFilter(owner: owner.map { UserID($0) }, isDeleted: deleted ? true : living ? false : nil)
        let after = try after.map { try FilesExplain.file($0) }
        let now = installation.now
        let files = try installation.store.snapshot { session in
            guard try session.groupDetails(uuid, at: now) != nil else {
                throw CommandFailure(.foundSomething, "there is no group \(group)")
            }
            return try session.listFiles(of: uuid, filter, after: after, limit: page.limit + 1)
        }
        return Page(files, limit: page.limit) { $0.fileUUID.rawValue }
    }
}

struct FilesExplain: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Explains the history of one file.",
        discussion: """
            Shows who uploaded which version when, as far as recorded; deletion and undeletion; changes that wait for \
            a commit; work in the outbox; whose storage holds the contents, and whether they still exist there, as \
            the storage reports; the replies sent to clients, what clients see now, and what can be done.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The file's UUID.", valueName: "file-uuid")) var file: String
    @Flag(inversion: .prefixedNo, help: "Asks the owner's storage whether the contents exist.") var clouds = true
    @Option(help: ArgumentHelp("The total time limit for the storage.", valueName: "seconds")) var deadline = 10

    func validate() throws {
        guard (1...600).contains(deadline) else { throw ValidationError("--deadline must be from 1 to 600.") }
    }

    func report() throws -> any Report {
        let installation = try Installation(options)
        let uuid = try Self.file(file)
        let now = installation.now
        let evidence = try installation.store.snapshot { try $0.evidence(of: uuid, at: now) }
        guard !evidence.committed.isEmpty || !evidence.staged.isEmpty || !evidence.outbox.isEmpty else {
            throw CommandFailure(.foundSomething, "no record of a file \(file) exists")
        }
        return FileStory(evidence, clouds: clouds ? try answers(about: uuid, installation) : nil)
    }

    private func answers(about file: FileUUID, _ installation: Installation) throws -> [CloudAnswer] {
        try ObjectInquiry(
            store: installation.store, storage: try installation.storage(), transport: installation.transport(),
            deadline: .after(.seconds(deadline))
        ).ask(about: file)
    }

    static func file(_ text: String) throws -> FileUUID {
        guard let file = FileUUID(text) else {
            throw CommandFailure(.foundSomething, "\(text) is not a UUID; files are named by their UUIDs")
        }
        return file
    }
}
