internal import Glibc

/// The person at the terminal.
public enum Terminal {
    /// Whether standard input is one (isatty(3)).
    public static var isThere: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether this process runs as root.
    public static var isRoot: Bool { geteuid() == 0 }

    /// Asks for one line; `nil` at the end of the input.
    /// - Parameter isHidden: what is typed is not shown (termios(3), `ECHO`).
    public static func ask(_ question: String, isHidden: Bool = false) -> String? {
        var settings = termios()
        guard isHidden, unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return answer(to: question) }
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Before the question: what is typed earlier is shown, and is dropped by this.
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
