import Posix

/// Asks the responders behind a socket for their health, as nginx would.
public enum RespondersCheck {
    /// - Parameters:
    ///   - check: `apiSocket` or `transferSocket`.
    ///   - user: the user that nginx's processes run as.
    public static func examine(
        _ check: String, _ path: String, asUser user: String?, within limit: Duration
    ) -> [Diagnosis] {
        let status: Int?
        do throws(PosixError) { status = try ResponderProbe.healthStatus(at: path, within: limit) } catch {
            if error.isDenial {
                return [
                    Diagnosis(
                        .notPermitted, "\(path) cannot be checked, because only nginx may connect to it",
                        fix: "run as root",
                        check: check)
                ]
            }
            return [
                Diagnosis(
                    .responderSilent, "no responder answers at \(path): \(error)",
                    fix: error.isAbsence
                        ? "systemctl restart syncd-\(role(check)).socket recreates the socket"
                        : "systemctl restart 'syncd-\(role(check))@*'; journalctl -u 'syncd-\(role(check))@*' -n 50",
                    check: check)
            ]
        }
        switch status {
        case 200?:
            if let user, !may(user, "-w", path, within: limit) {
                let folder = obstacle(on: path) { may(user, "-x", $0, within: limit) }
                let what = folder.map { ": it may not enter \($0)" } ?? ""
                return [
                    Diagnosis(
                        .socketDenied,
                        "a responder answers at \(path), but nginx, as \(user), may not connect to it\(what)",
                        fix: folder.map { "chmod a+x \($0)" }
                            ?? "systemctl restart syncd-\(role(check)).socket recreates the socket, for \(user) if "
                            + "SocketUser= names it (systemctl cat syncd-\(role(check)).socket)",
                        check: check)
                ]
            }
            return [.good(check, "a responder answers at \(path)")]
        case 503?:
            return [
                Diagnosis(
                    .responderUnhealthy, "the responder at \(path) cannot use the database",
                    fix: "journalctl -u 'syncd-*' -p warning", check: check)
            ]
        case let status:
            return [
                Diagnosis(
                    .responderUnhealthy,
                    "the reply at \(path) is not from a healthy syncd (\(status.map(String.init) ?? "no status"))",
                    fix: "systemctl status 'syncd-*'", check: check)
            ]
        }
    }

    private static func role(_ check: String) -> String { check == "apiSocket" ? "api" : "transfer" }

    /// The first folder on the path to a file that the user may not enter (path_resolution(7)).
    static func obstacle(on path: String, mayEnter: (String) -> Bool) -> String? {
        let slashes = path.indices.filter { path[$0] == "/" }
        return slashes.map { $0 == path.startIndex ? "/" : String(path[..<$0]) }.first { !mayEnter($0) }
    }

    /// Whether a user has a right (test(1)), such as `-w` to a socket, which connecting requires (unix(7)); also `true`
    /// if that cannot be determined.
    private static func may(_ user: String, _ right: String, _ path: String, within limit: Duration) -> Bool {
        guard Terminal.isRoot, UserAccount(user) != nil else { return true }
        do throws(PosixError) {
            return try ChildProcess.run(["runuser", "-u", user, "--", "test", right, path], within: limit).status != 1
        } catch {
            return true
        }
    }
}

/// Asks a responder on its socket for its health, as nginx would: one FastCGI request (FastCGI specification 1.0).
enum ResponderProbe {
    /// The HTTP status of the reply to HealthCheck; `nil` if the reply is malformed.
    /// - Throws: ``PosixError`` without an answer.
    static func healthStatus(at path: String, within limit: Duration) throws(PosixError) -> Int? {
        try reply(at: path, within: limit).flatMap(status)
    }

    /// The version that a responder reports; `nil` if it reports none or does not answer.
    static func version(at path: String, within limit: Duration) -> String? {
        guard let output = try? reply(at: path, within: limit) else { return nil }
        return value(of: "syncserver-version", in: output)
    }

    /// Headers and body; `nil` if they are malformed.
    private static func reply(at path: String, within limit: Duration) throws(PosixError) -> [UInt8]? {
        let connection = try UnixConnection(path: path, timeout: limit)
        let parameters = [
            ("REQUEST_METHOD", "GET"), ("DOCUMENT_URI", "/HealthCheck"), ("REQUEST_URI", "/HealthCheck"),
            ("SCRIPT_NAME", "/HealthCheck"), ("QUERY_STRING", ""), ("CONTENT_LENGTH", ""),
            ("SERVER_PROTOCOL", "HTTP/1.1"),
        ]
        let pairs = parameters.flatMap { name, value in
            [UInt8(name.utf8.count), UInt8(value.utf8.count)] + Array(name.utf8) + Array(value.utf8)
        }
        // Begin request as responder, parameters, end of parameters, and empty input.
        try connection.send(
            record(1, [0, 1, 0, 0, 0, 0, 0, 0]) + record(4, pairs) + record(4, []) + record(5, []))
        var output: [UInt8] = []
        while let header = try connection.receive(8) {
            guard let content = try connection.receive(Int(header[4]) << 8 | Int(header[5])),
                try connection.receive(Int(header[6])) != nil
            else { return nil }
            if header[1] == 6 { output += content }
            if header[1] == 3 { return output }
        }
        return nil
    }

    private static func record(_ type: UInt8, _ content: [UInt8]) -> [UInt8] {
        [1, type, 0, 1, UInt8(content.count >> 8), UInt8(content.count & 255), 0, 0] + content
    }

    /// The number in the header `Status`; 200 without that header (RFC 3875, section 6.3.3).
    static func status(in output: [UInt8]) -> Int? {
        guard !output.isEmpty else { return nil }
        guard let text = value(of: "status", in: output) else { return 200 }
        return text.split(separator: " ").first.flatMap { Int($0) }
    }

    private static func value(of header: String, in output: [UInt8]) -> String? {
        for line in String(decoding: output, as: UTF8.self).split(separator: "\r\n")
        where line.lowercased().hasPrefix(header + ":") {
            return String(line.dropFirst(header.count + 1).drop { $0 == " " })
        }
        return nil
    }
}

/// Asks nginx's publisher of signals about changes for its state, as monitoring does.
public enum SignalsCheck {
    private static let maximumReply = 16_384

    public static func examine(_ path: String, within limit: Duration) -> [Diagnosis] {
        let reply: String
        do throws(PosixError) {
            let connection = try UnixConnection(path: path, timeout: limit)
            try connection.send(Array("GET /status HTTP/1.0\r\nHost: localhost\r\n\r\n".utf8))
            reply = String(decoding: try connection.receiveAll(limit: maximumReply), as: UTF8.self)
        } catch {
            guard !error.isDenial else {
                return [
                    Diagnosis(
                        .notPermitted, "\(path) cannot be checked, because only syncd may connect to it",
                        fix: "run as root", check: "signals")
                ]
            }
            return [silent(path, "\(error)")]
        }
        guard reply.contains("nchan version") else { return [silent(path, "another program answers there")] }
        return [.good("signals", "nginx publishes signals about changes")]
    }

    private static func silent(_ path: String, _ reason: String) -> Diagnosis {
        Diagnosis(
            .signalsSilent, "nginx's publisher of signals about changes does not answer at \(path): \(reason)",
            fix: "apt install libnginx-mod-nchan, and syncctl setup --changes; or remove changeSignal from syncd.json")
    }
}
