import Posix

/// Where everything goes that is not the result.
enum StandardError {
    static func write(_ text: String) { LogFile.standardError.write(line: text) }
}
