import ArgumentParser
import Gzip
import HTTPTransport
import Logging
import Operations
import Posix
import Store
import SyncProtocol
import Vault

/// Exports all data about one user.
struct ExportUser: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Exports all data stored about a user, to give to them.",
        discussion: """
            Prints JSON without tokens and without other people's data. With --files, also downloads the user's own \
            files from their storage.
            """)

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The user's number.", valueName: "number")) var user: Int64
    @Option(
        help: ArgumentHelp(
            "A new folder for user.json and the files; without it, the JSON is printed.", valueName: "folder"),
        completion: .directory)
    var to: String?
    @Flag(help: "Also downloads the user's files; requires --to.") var files = false

    func validate() throws {
        guard !files || to != nil else { throw ValidationError("--files requires a folder: --to FOLDER.") }
    }

    func run() throws {
        let report = try report()
        // Without a folder, the data itself is the result, which only programs read.
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
