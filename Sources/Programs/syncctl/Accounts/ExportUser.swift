import ArgumentParser
import Gzip
import HTTPTransport
import Logging
import Operations
import Posix
import Store
import SyncProtocol
import Vault

/// Exports all data about one person.
struct ExportUser: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes down everything that is stored about a user, for them.",
        discussion: """
            JSON without tokens and without what belongs to others. With --files also the bytes of the person's own files, \
            fetched from their storage.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The user's number.", valueName: "number")) var user: Int64
    @Option(
        help: ArgumentHelp(
            "A new folder to write user.json, and files, into; without it the JSON is printed.", valueName: "folder"),
        completion: .directory)
    var to: String?
    @Flag(help: "Also fetches the bytes of the person's files; needs --to.") var files = false

    func validate() throws {
        guard !files || to != nil else { throw ValidationError("--files needs a folder: --to FOLDER.") }
    }

    func run() throws {
        let report = try report()
        // Without a folder the data itself is the result, which only programs read.
        try Output.write(report, asJSON: options.isJSON || to == nil)
        if !report.isGood { throw ExitCode(ExitStatus.foundSomething.rawValue) }
    }

    func report() throws -> any Report {
        let installation = try Installation(options)
        let id = UserID(user)
        guard let data = try installation.store.snapshot({ try $0.personalData(of: id) }) else {
            throw CommandFailure(.foundSomething, "there is no user \(user)")
        }
        var export = PersonalExport(data, at: installation.now)
        guard let to else { return export }
        guard !RegularFile.exists(to) else {
            throw CommandFailure(.foundSomething, "\(to) exists already; nothing was written")
        }
        try Directory.make(to)
        if files, data.user.user.accountType.cloudStorageType != nil,
            let record = try installation.store.withSession({ try $0.user(id) })
        {
            let storage = try installation.storage().storage(
                of: record, transport: installation.transport(), deadline: .after(.seconds(60)),
                logger: Logger(label: "syncctl", factory: { _ in SwiftLogNoOpLogHandler() }))
            try export.fetchFiles(from: storage, into: to)
        }
        let file = try RegularFile("\(to)/user.json", for: .writing)
        try file.write(Array((try export.json() + "\n").utf8).span, at: 0)
        return export
    }
}
