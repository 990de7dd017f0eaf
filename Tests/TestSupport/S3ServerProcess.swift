import Foundation
import Posix
import Synchronization

/// A real server with the interface of Amazon S3, which ends with this process (scripts/lib/s3-server).
public final class S3ServerProcess: Sendable {
    /// The only bucket.
    public static let bucket = "photos"
    private static let running = Mutex<[String: S3ServerProcess]>([:])

    /// Where it listens on 127.0.0.1.
    public let port: UInt16
    private let kind: String
    private let folder: URL
    /// The server ends when this is closed.
    private let input: Pipe

    /// The server of that kind, `moto` or `rclone`, that all tests of this process share.
    public static func of(_ kind: String) throws -> S3ServerProcess {
        try running.withLock { running in
            if let known = running[kind] { return known }
            let started = try S3ServerProcess(kind)
            running[kind] = started
            return started
        }
    }

    private init(_ kind: String) throws {
        self.kind = kind
        folder = FileManager.default.temporaryDirectory
            .appending(path: "syncserver-s3-\(kind)-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        input = Pipe()
        let output = folder.appending(path: "output")
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        defer { try? handle.close() }
        let process = try ChildProcess(
            [PrivateStack.repository.appending(path: "scripts/lib/s3-server").path, kind, folder.path],
            input: input.fileHandleForReading.fileDescriptor, output: handle.fileDescriptor, hasOwnGroup: true)
        try? input.fileHandleForReading.close()
        // The first time, packages are installed.
        let deadline = ContinuousClock.now + .seconds(180)
        while true {
            let text = try String(contentsOf: output, encoding: .utf8)
            if let port = text.split(separator: "\n").compactMap({ UInt16($0) }).first {
                self.port = port
                return
            }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw StackError.malformedSetting("s3-server \(kind): \(text)")
            }
            Pause.sleep(.milliseconds(50))
        }
    }

    // MARK: What is in the bucket, past the interface under test

    /// The objects whose keys begin with `prefix`, and have no further slash.
    public func objects(behind prefix: String) throws -> [(name: String, size: Int)] {
        if kind == "rclone" {
            let place = folder.appending(path: "\(Self.bucket)/\(prefix)")
            let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
            return try names.map { name in
                let file = try FileManager.default.attributesOfItem(atPath: place.appending(path: name).path)
                return (name, file[.size] as? Int ?? -1)
            }
        }
        let reply = try call("GET", "?list-type=2&max-keys=1000&prefix=\(Self.encoded(prefix))")
        let text = String(decoding: reply.body, as: UTF8.self)
        return text.split(separator: "<Contents>").dropFirst().compactMap { entry in
            guard let key = Self.element("Key", in: entry), let size = Self.element("Size", in: entry) else {
                return nil
            }
            return (String(key.dropFirst(prefix.count)), Int(size) ?? -1)
        }
    }

    public func read(_ key: String) throws -> [UInt8]? {
        if kind == "rclone" { return try? Array(Data(contentsOf: file(key))) }
        let reply = try call("GET", "/" + Self.encoded(key))
        return reply.status == 200 ? reply.body : nil
    }

    public func write(_ bytes: [UInt8], _ key: String) throws {
        if kind == "rclone" {
            let place = file(key)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            return try Data(bytes).write(to: place)
        }
        guard try call("PUT", "/" + Self.encoded(key), bytes).status == 200 else { throw CocoaError(.fileWriteUnknown) }
    }

    public func remove(_ key: String) throws {
        if kind == "rclone" { return try FileManager.default.removeItem(at: file(key)) }
        _ = try call("DELETE", "/" + Self.encoded(key))
    }

    /// The uploads of several parts that have neither been completed nor aborted; of moto only.
    public func unfinishedUploads(behind prefix: String) throws -> Int {
        let reply = try call("GET", "?uploads=&prefix=\(Self.encoded(prefix))")
        return String(decoding: reply.body, as: UTF8.self).split(separator: "<UploadId>").count - 1
    }

    private func file(_ key: String) -> URL { folder.appending(path: "\(Self.bucket)/\(key)") }

    private func call(_ method: String, _ target: String, _ body: [UInt8]? = nil) throws -> HTTPReply {
        try HTTPAddress("http://127.0.0.1:\(port)")
            .perform(HTTPCall(method, "/\(Self.bucket)\(target)", body: body))
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch Unicode.Scalar(byte) {
            case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~", "/": String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    private static func element(_ name: String, in text: some StringProtocol) -> String? {
        guard let start = text.range(of: "<\(name)>"), let end = text.range(of: "</\(name)>") else { return nil }
        return text[start.upperBound..<end.lowerBound].replacingOccurrences(of: "&amp;", with: "&")
            .replacingOccurrences(of: "&lt;", with: "<").replacingOccurrences(of: "&gt;", with: ">")
            .replacingOccurrences(of: "&#x27;", with: "'").replacingOccurrences(of: "&quot;", with: "\"")
            .replacingOccurrences(of: "&#39;", with: "'").replacingOccurrences(of: "&#34;", with: "\"")
    }
}
