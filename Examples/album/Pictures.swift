import ArgumentParser
import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// How a terminal shows pictures.
enum PictureFormat: String, CaseIterable, ExpressibleByArgument {
    /// kitty's graphics protocol: https://sw.kovidgoyal.net/kitty/graphics-protocol/
    case kitty
    /// DEC's six pixel rows: VT330/VT340 Programmer Reference Manual, chapter 14.
    case sixel
    /// No picture: a link to the file.
    case link
}

/// Shows a picture on the terminal.
struct PictureView {
    let format: PictureFormat

    /// Shows the picture, or a link to it if the terminal cannot show it.
    func show(_ picture: URL) {
        switch format {
        case .kitty where draw(picture, "kitty"): break
        case .sixel where draw(picture, "sixels"): break
        default: print(Self.link(to: picture, isTerminal: isatty(STDOUT_FILENO) == 1))
        }
    }

    /// A hyperlink, which many terminals support: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda
    static func link(to picture: URL, isTerminal: Bool) -> String {
        guard isTerminal else { return picture.path }
        return "\u{1B}]8;;\(picture.absoluteString)\u{1B}\\\(picture.path)\u{1B}]8;;\u{1B}\\"
    }

    /// Lets chafa decode and scale the picture; false if chafa is not installed, or fails.
    private func draw(_ picture: URL, _ format: String) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["chafa", "--format=\(format)", "--size=60x20", "--animate=off", picture.path]
        process.standardError = FileHandle.nullDevice
        // Earlier output must precede the picture.
        fflush(nil)
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// The program's terminal.
enum Terminal {
    /// Time limit for an answer, in milliseconds; every terminal answers the second query immediately.
    private static let patience: Int32 = 500

    /// Queries the terminal for its picture format.
    ///
    /// The first query tests for kitty's protocol, the second requests the device attributes (DA1): a terminal without
    /// kitty's protocol answers only the second; attribute 4 is sixel.
    static func pictureFormat() -> PictureFormat {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return .link }
        let answer = ask("\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\u{1B}[c")
        return pictureFormat(answer: answer)
    }

    /// Interprets a terminal's answer.
    static func pictureFormat(answer: String) -> PictureFormat {
        if answer.contains("\u{1B}_Gi=31;OK") { return .kitty }
        guard let begin = answer.range(of: "\u{1B}[?"),
            let end = answer.range(of: "c", range: begin.upperBound..<answer.endIndex)
        else { return .link }
        let attributes = answer[begin.upperBound..<end.lowerBound].split(separator: ";")
        return attributes.dropFirst().contains("4") ? .sixel : .link
    }

    /// Sends queries, and returns the answer up to the end of the device attributes.
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
