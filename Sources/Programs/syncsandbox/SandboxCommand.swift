public import ArgumentParser
import Curl
import FastCGI
import Posix
public import Sandbox

extension SandboxServer.Break: ExpressibleByArgument {}

/// `syncsandbox`: a FastCGI responder that emulates cloud and sign-in providers.
struct SandboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncsandbox",
        abstract: "Emulates Google, Dropbox, Microsoft, Facebook and Apple behind nginx, for development and tests.",
        discussion: """
            Uses the listening socket that it receives as standard input or through LISTEN_FDS; with --socket, it \
            creates one. On SIGTERM, it finishes the requests in progress and exits.
            """)

    @Option(help: "Directory that keeps accounts and files; created if it is missing.")
    var state: String

    @Option(help: "Unix socket to create and listen on, if none is passed.")
    var socket: String?

    @Option(help: "https URL of a SyncServer for the phones on the sandbox's page; without it, the page has no phones.")
    var server: String?

    @Option(help: "File with the authority of that server's certificate, if the system does not trust it.")
    var serverCa: String?

    @Option(help: "Requests served at the same time (1-1024).")
    var threads = 32

    @Option(name: .customLong("break"), help: "Misbehave on purpose, to prove that a check detects it.")
    var breaks: [SandboxServer.Break] = []

    func validate() throws {
        guard (1...1024).contains(threads) else {
            throw ValidationError("--threads must be from 1 to 1024, not \(threads)")
        }
        if let server, !server.hasPrefix("https://") {
            throw ValidationError("--server must be a URL that begins with https://")
        }
    }

    func run() throws {
        let openFiles = OpenFiles.raiseLimit()
        Signals.ignoreBrokenPipes()
        Signals.prepareWaking()
        Signals.block()
        // Each thread has a connection to nginx, and one file or connection to the server at a time.
        if openFiles < 2 * threads + 64 {
            StandardError.write(
                "syncsandbox: this process may open \(openFiles) files, but \(threads) threads need "
                    + "\(2 * threads + 64): raise the hard limit (ulimit -Hn), or lower --threads")
        }
        CurlLibrary.initialize()
        try FastCGILibrary.initialize()
        let listening: ListeningSocket
        if let socket {
            listening = try ListeningSocket.bind(path: socket)
        } else if let inherited = ListeningSocket.inherited() {
            listening = inherited
        } else {
            throw ValidationError("no listening socket was passed; use --socket PATH")
        }
        let server = try SandboxServer(
            directory: StateDirectory(state), breaks: Set(breaks),
            appServer: server.map { AppServer(address: $0, authorities: serverCa) },
            wait: { Pause.sleep(.milliseconds($0)) })
        @Sendable func tellOfRefusal(_ error: PosixError) {
            StandardError.write("syncsandbox: requests wait, because the system does not create more threads: \(error)")
        }
        let workers = try WorkerPool(
            .init(spare: 8, maximum: threads), name: "sandbox", stackBytes: 1 << 20, failed: tellOfRefusal
        ) { worker in
            guard let exchange = try? Exchange(socket: listening, server: server) else { return }
            while !worker.isToEnd {
                if exchange.accept() { worker.serve { exchange.serve() } }
            }
        }
        let manager = ServiceManager()
        manager.ready("Emulating Google, Dropbox, Microsoft, Facebook and Apple")
        while Signals.wait(upTo: .seconds(1)) != .stop { workers.review() }
        manager.stopping()
        FastCGILibrary.beginShutdown()
        _ = workers.drain(within: .seconds(3_600))
    }
}

extension AppServer {
    /// How long a request may take: the server ends its own after 40 seconds, except for slow transfers.
    private static let patience = Duration.seconds(120)

    /// The server at `address`, whose certificate must be signed by the named authorities, or by one that the system
    /// knows.
    init(address: String, authorities: String?) {
        self.init(address: address) { request throws(Unreachable) in
            do throws(CurlError) {
                var handle = try EasyHandle(routing: Routing(caFile: authorities))
                var call = Curl.Request(
                    method: request.method, url: request.url, headers: request.headers,
                    body: request.body.isEmpty ? .none : .bytes(request.body))
                call.totalTimeout = Self.patience
                call.responseBodyLimit = request.replyLimit
                let response = try handle.perform(call)
                return Reply(status: response.status, headers: response.headers, body: response.body)
            } catch {
                throw Unreachable(error.debugDescription)
            }
        }
    }
}
