import Foundation

/// The system's browser.
enum Browser {
    /// Asks the system to open a page; does nothing without a browser, since the address is printed as well.
    static func open(_ url: URL) {
        #if os(macOS)
            let program = "/usr/bin/open"
        #else
            guard let program = find("xdg-open") else { return }
        #endif
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = [url.absoluteString]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try? process.run()
    }

    #if !os(macOS)
        private static func find(_ name: String) -> String? {
            let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        }
    #endif
}
