public import ArgumentParser
import Configuration
import Curl
import FastCGI
import HTTPTransport
import Logging
import MariaDB
import OpenSSLCrypto
import Posix
public import SyncProtocol

/// The server: one process in one role.
@main
struct Syncd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncd",
        abstract: "Lets devices and friends share files that stay in their owners' cloud storage.",
        discussion: """
            Accepts FastCGI requests on the socket that it is started with: descriptor 3, as in sd_listen_fds(3), or \
            standard input. The role "jobs" accepts none; it performs pending work in the clouds.
            """,
        version: ServerRelease.text)

    @Option(help: "What this process does: \(ServerRole.allCases.map(\.rawValue).joined(separator: ", ")).")
    var role: ServerRole

    @Option(help: "The configuration file.", completion: .file(extensions: ["json"]))
    var config = "/etc/syncd/syncd.json"

    func run() throws {
        // Initialized before the configuration is read, whose keys need the library.
        CryptoLibrary.initialize()
        let openFiles = OpenFiles.raiseLimit()
        MemoryAllocator.returnLargeBlocks()
        Signals.ignoreBrokenPipes()
        Signals.prepareWaking()
        Signals.block()
        let configuration: ServerConfiguration
        do {
            configuration = try ServerConfiguration(readingFrom: config, for: role)
        } catch {
            StandardError.write("syncd: the configuration has mistakes\n\(error)")
            throw ExitCode(78)  // EX_CONFIG of sysexits.h
        }
        let logFile = try logFile(of: configuration)
        let logger = LineLogHandler.logger(to: logFile, level: configuration.log.level, role: role.rawValue)
        for finding in configuration.notes where finding.kind == .warning {
            logger.warning("Configuration", metadata: .keyed([.reason: "\(finding)"]))
        }
        try FastCGILibrary.initialize()
        CurlLibrary.initialize()
        ClientLibrary.initialize()
        if let sandbox = configuration.sandbox {
            logger.warning(
                "SANDBOX: every call to a provider goes to this machine; nothing reaches a real cloud",
                metadata: .keyed([.reason: "\(sandbox.host):\(sandbox.port)"]))
        }
        let neededFiles = neededFiles(configuration)
        if openFiles < neededFiles {
            logger.warning(
                "The system lets this process open fewer files than all its threads need: raise its limit",
                metadata: .keyed([.reason: "LimitNOFILE is \(openFiles), not \(neededFiles)"]))
        }
        let server = try Server(
            configuration: configuration, role: role, logger: logger, logFile: logFile)
        switch role {
        case .api, .transfer: try server.respond(as: role)
        case .jobs: try server.work()
        }
    }

    /// How many files and connections are open when all threads are busy: each thread has one to the web server and up
    /// to three to providers; the others belong to the database, the log and libraries.
    private func neededFiles(_ configuration: ServerConfiguration) -> Int {
        let threads =
            switch role {
            case .api: configuration.apiThreads
            case .transfer: configuration.transferThreads
            case .jobs: Server.jobsThreads + configuration.moveThreads
            }
        return 4 * threads + configuration.databaseConnections + 64
    }

    /// Where log lines go. A file that cannot be written is a configuration error: retrying would not help.
    private func logFile(of configuration: ServerConfiguration) throws -> LogFile {
        guard let path = configuration.log.file else { return .standardError }
        do { return try LogFile(path: path) } catch {
            StandardError.write("syncd: log.file names \(path), which cannot be written: \(error)")
            throw ExitCode(78)  // EX_CONFIG of sysexits.h
        }
    }
}

extension ServerRole: ExpressibleByArgument {}
