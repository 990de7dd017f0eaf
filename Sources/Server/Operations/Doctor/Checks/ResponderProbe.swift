import Posix

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

    /// The number in the header `Status`; 200 if there is none (RFC 3875, section 6.3.3).
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
