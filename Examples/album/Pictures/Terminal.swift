import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The terminal on which the program runs.
enum Terminal {
    /// How long an answer may take, in milliseconds; each terminal answers the second question at once.
    private static let patience: Int32 = 500

    /// Asks the terminal how it shows pictures.
    ///
    /// First whether it knows kitty's protocol, then for its device attributes (DA1): what knows not the former answers
    /// only the latter, whose attribute 4 is sixel.
    static func pictureFormat() -> PictureFormat {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return .link }
        let answer = ask("\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\u{1B}[c")
        return pictureFormat(answer: answer)
    }

    /// What a terminal's answer means.
    static func pictureFormat(answer: String) -> PictureFormat {
        if answer.contains("\u{1B}_Gi=31;OK") { return .kitty }
        guard let begin = answer.range(of: "\u{1B}[?"),
            let end = answer.range(of: "c", range: begin.upperBound..<answer.endIndex)
        else { return .link }
        let attributes = answer[begin.upperBound..<end.lowerBound].split(separator: ";")
        return attributes.dropFirst().contains("4") ? .sixel : .link
    }

    /// Sends a question; what came until the end of the device attributes.
    private static func ask(_ question: String) -> String {
        var before = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &before) == 0 else { return "" }
        var raw = before
        raw.c_lflag &= ~tcflag_t(ECHO | ICANON)
        guard unsafe tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 else { return "" }
        defer { _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &before) }
        guard (try? FileHandle.standardOutput.write(contentsOf: Data(question.utf8))) != nil else { return "" }
        var answer: [UInt8] = []
        var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        while answer.count < 1_024, unsafe poll(&waiting, 1, patience) == 1 {
            var byte: UInt8 = 0
            guard unsafe read(STDIN_FILENO, &byte, 1) == 1 else { break }
            answer.append(byte)
            if byte == UInt8(ascii: "c"), String(decoding: answer, as: UTF8.self).contains("\u{1B}[?") { break }
        }
        return String(decoding: answer, as: UTF8.self)
    }
}
