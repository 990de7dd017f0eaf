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
        _ = unsafe question.withCString { unsafe write(STDOUT_FILENO, $0, strlen($0)) }
        guard isHidden else { return readLine() }
        var settings = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return readLine() }
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            _ = unsafe "\n".withCString { unsafe write(STDOUT_FILENO, $0, 1) }
        }
        return readLine()
    }
}
