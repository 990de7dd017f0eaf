internal import Glibc

/// The person at the terminal.
public enum Terminal {
    /// Whether standard input is a terminal (isatty(3)).
    public static var isThere: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether standard output is a terminal (isatty(3)).
    public static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether standard output is a terminal that should show colours (`NO_COLOR`, no-color.org).
    public static var isColored: Bool {
        let unwanted = unsafe getenv("NO_COLOR").map { unsafe strlen($0) > 0 } ?? false
        let kind = unsafe getenv("TERM").map { unsafe String(cString: $0) } ?? "dumb"
        return isOutput && !unwanted && kind != "dumb"
    }

    /// Whether this process runs as root.
    public static var isRoot: Bool { geteuid() == 0 }

    /// Asks for one line; `nil` at the end of the input.
    /// - Parameter isHidden: the input is not echoed (termios(3), `ECHO`).
    public static func ask(_ question: String, isHidden: Bool = false) -> String? {
        var settings = termios()
        guard isHidden, unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return answer(to: question) }
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Set before the question: input typed before it was echoed, and this call discards it.
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            say("\n")
        }
        return answer(to: question)
    }

    private static func answer(to question: String) -> String? {
        say(question)
        return readLine()
    }

    private static func say(_ text: String) {
        _ = unsafe text.withCString { unsafe write(STDOUT_FILENO, $0, strlen($0)) }
    }
}
