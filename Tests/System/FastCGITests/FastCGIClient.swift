import Glibc

/// A minimal implementation of a web server's side of one FastCGI request (FastCGI specification 1.0).
///
/// `@unchecked Sendable`: one thread may send while another receives, as sockets allow; only the owner hangs up.
final class FastCGIClient: @unchecked Sendable {
    private enum Record: UInt8 {
        case begin = 1
        case end = 3
        case parameters = 4
        case input = 5
        case output = 6
    }

    private let descriptor: CInt
    private var isOpen = true
    /// Whether sending has failed.
    private(set) var isBroken = false

    /// Connects to the socket at `path`.
    init(path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        precondition(code == 0, "cannot connect to \(path): errno \(errno)")
    }

    deinit { hangUp() }

    func hangUp() {
        if isOpen { close(descriptor) }
        isOpen = false
    }

    /// Sends the beginning of a request: its role and its parameters.
    func begin(_ parameters: [(String, String)]) {
        send(.begin, [0, 1, 0, 0, 0, 0, 0, 0])
        var bytes: [UInt8] = []
        for (name, value) in parameters {
            bytes += length(name) + length(value) + Array(name.utf8) + Array(value.utf8)
        }
        send(.parameters, bytes)
        send(.parameters, [])
    }

    /// Sends a part of the body, in records of at most 32 KiB.
    func body(_ bytes: [UInt8]) { write(Self.input(bytes)) }

    /// Records of a part of the body.
    static func input(_ bytes: [UInt8], recordBytes: Int = 32_768, paddingBytes: Int = 0) -> [UInt8] {
        var records: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            records += record(.input, Array(rest.prefix(recordBytes)), paddingBytes: paddingBytes)
            rest = rest.dropFirst(recordBytes)
        }
        return records
    }

    /// The record that ends a body.
    static let endOfInput = record(.input, [])

    func endBody() { write(Self.endOfInput) }

    /// Sends bytes that are not a record.
    func sendRaw(_ bytes: [UInt8]) { write(bytes) }

    /// Everything that arrives on standard output until the request ends; `nil` if the connection ends before that.
    func reply() -> [UInt8]? {
        var output: [UInt8] = []
        while let header = read(8) {
            let count = Int(header[4]) << 8 | Int(header[5])
            guard let content = read(count), read(Int(header[6])) != nil else { return nil }
            if header[1] == Record.output.rawValue { output += content }
            if header[1] == Record.end.rawValue { return output }
        }
        return nil
    }

    private func length(_ text: String) -> [UInt8] {
        let count = text.utf8.count
        guard count > 127 else { return [UInt8(count)] }
        return [UInt8(count >> 24 | 0x80), UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)]
    }

    private func send(_ type: Record, _ content: [UInt8]) { write(Self.record(type, content)) }

    private static func record(_ type: Record, _ content: [UInt8], paddingBytes: Int = 0) -> [UInt8] {
        [
            1, type.rawValue, 0, 1, UInt8(content.count >> 8), UInt8(content.count & 255), UInt8(paddingBytes), 0,
        ] + content + [UInt8](repeating: 0xEE, count: paddingBytes)
    }

    private func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else {
                isBroken = true
                return
            }
            rest = rest.dropFirst(sent)
        }
    }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < count {
            let received = unsafe recv(descriptor, &buffer, min(buffer.count, count - bytes.count), 0)
            guard received > 0 else { return nil }
            bytes += buffer[..<received]
        }
        return bytes
    }
}
