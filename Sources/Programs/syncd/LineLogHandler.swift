import Logging
import Posix
import SyncProtocol

/// Writes each log record as one line of JSON: time, level, role, message, and the metadata.
struct LineLogHandler: LogHandler {
    private let file: LogFile
    private let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level

    /// A logger that adds this process's role to every line.
    static func logger(to file: LogFile, level: String, role: String) -> Logger {
        Logger(label: role) { label in
            LineLogHandler(file: file, label: label, logLevel: Logger.Level(rawValue: level) ?? .notice)
        }
    }

    init(file: LogFile, label: String, logLevel: Logger.Level) {
        self.file = file
        self.label = label
        self.logLevel = logLevel
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var writer = JSONWriter(reservingBytes: 512)
        writer.object { writer in
            writer.field("time", text: Self.time())
            writer.field("level", text: event.level.rawValue)
            writer.field("role", text: label)
            writer.field("message", text: event.message.description)
            for (key, value) in metadata where event.metadata?[key] == nil { Self.add(key, value, to: &writer) }
            for (key, value) in event.metadata ?? [:] { Self.add(key, value, to: &writer) }
        }
        // Some values contain text from providers, and operators read logs on terminals.
        let line = Array(PrintableText.json(String(decoding: writer.bytes, as: UTF8.self)).utf8)
        file.write(line: file.isJournal ? Self.priority(event.level) + line : line)
    }

    /// The priority in the journal's form: a syslog(3) level.
    private static func priority(_ level: Logger.Level) -> [UInt8] {
        let number =
            switch level {
            case .trace, .debug: 7
            case .info: 6
            case .notice: 5
            case .warning: 4
            case .error: 3
            case .critical: 2
            }
        return Array("<\(number)>".utf8)
    }

    private static func add(_ key: String, _ value: Logger.Metadata.Value, to writer: inout JSONWriter) {
        writer.key(JSONKey(stringLiteral: key))
        if case .string(let text) = value { writer.value(text: text) } else { writer.value(text: value.description) }
    }

    /// The current time in RFC 3339 format, in UTC with milliseconds.
    private static func time() -> String {
        let milliseconds = WallClock.millisecondsSince1970()
        var bytes: [UInt8] = []
        WireDate(secondsSince1970: milliseconds / 1_000).append(to: &bytes)
        bytes[10] = UInt8(ascii: "T")
        bytes.append(UInt8(ascii: "."))
        bytes += String(milliseconds % 1_000 + 1_000).utf8.dropFirst()
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }
}
