import FoundationEssentials
import Logging
import Posix
import SyncProtocol

/// Writes each log record as one line of JSON: time, level, message, and the metadata in the order of their names.
struct LineLogHandler: LogHandler {
    private let file: LogFile
    private let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level

    /// A logger whose every line names the role of this process.
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
        var writer = JSONWriter()
        let now = Date().timeIntervalSince1970
        let seconds = WireDate(secondsSince1970: Int64(now)).description.replacing(" ", with: "T")
        let milliseconds = Int(now * 1_000) % 1_000
        let fraction = String(milliseconds + 1_000).dropFirst()
        writer.object { writer in
            writer.field("time", text: "\(seconds).\(fraction)Z")
            writer.field("level", text: event.level.rawValue)
            writer.field("role", text: label)
            writer.field("message", text: event.message.description)
            let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
            for (key, value) in all.sorted(by: { $0.key < $1.key }) {
                writer.key(JSONKey(stringLiteral: key))
                writer.value(text: value.description)
            }
        }
        file.write(line: String(decoding: writer.bytes, as: UTF8.self))
    }
}
