import SyncDirectory

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
#if os(Linux)
    import Dispatch

    /// Reports changes in a directory: inotify(7).
    ///
    /// Periodic scans find changes that it misses, such as those in a new folder before it is watched.
    final class FolderWatcher: Sendable {
        private let descriptor: Int32
        private nonisolated(unsafe) let source: any DispatchSourceRead

        /// - Parameter body: called after changes, from any thread.
        init?(_ body: @escaping @Sendable () -> Void) {
            let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            self.descriptor = descriptor
            unsafe source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            unsafe source.setEventHandler {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while unsafe read(descriptor, &buffer, buffer.count) > 0 {}
                body()
            }
            unsafe source.setCancelHandler { close(descriptor) }
            unsafe source.resume()
        }

        deinit { unsafe source.cancel() }

        /// Also watches these folders; a folder that is already watched costs only the call.
        func watch(_ folders: [String]) {
            let mask = UInt32(
                IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR
                    | Int32(bitPattern: UInt32(IN_DONT_FOLLOW)))
            for folder in folders { _ = unsafe inotify_add_watch(descriptor, folder, mask) }
        }
    }
#else
    /// For systems without change notifications: the directory is scanned often.
    final class FolderWatcher: Sendable {
        init?(_ body: @escaping @Sendable () -> Void) { return nil }
        func watch(_ folders: [String]) {}
    }
#endif
