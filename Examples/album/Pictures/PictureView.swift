import ArgumentParser
import Foundation

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
