public import Foundation
import SyncServerConnection

#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Stores one account's credentials between launches of a program.
///
/// Must be readable without user interaction, even in the background: on Apple's platforms `KeychainCredentialStore`, on
/// Linux ``FileCredentialStore``.
public protocol CredentialStore: Sendable {
    /// The stored credentials, or `nil`.
    /// - Throws: ``SignInError/Code/storageFailed``, ``SignInError/Code/storageInsecure``.
    func load() throws(SignInError) -> AccountCredentials?

    /// Replaces the stored credentials with `credentials`, atomically.
    func save(_ credentials: AccountCredentials) throws(SignInError)

    /// Removes the stored credentials, if any.
    func remove() throws(SignInError)
}

/// Stores credentials in a file that only its owner can read (mode 0600).
///
/// Refuses, and does not repair, a file that others could read, that another user owns, or that is a symbolic link:
/// others may already know its contents. New contents replace the old ones by a rename, after their bytes are on disk.
public struct FileCredentialStore: CredentialStore {
    /// Far larger than any credentials.
    private static let maximumBytes = 262_144

    private let file: URL

    /// - Parameter file: its folder is created if missing, accessible to its owner only.
    public init(file: URL) { self.file = file }

    public func load() throws(SignInError) -> AccountCredentials? {
        let number = unsafe open(file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        if number < 0, errno == ENOENT { return nil }
        guard number >= 0 else {
            throw errno == ELOOP ? SignInError(.storageInsecure, "a link") : Self.failure("open")
        }
        let descriptor = Descriptor(number)
        try Self.requirePrivate(descriptor)
        let bytes = try Self.read(descriptor)
        do { return try JSONDecoder().decode(AccountCredentials.self, from: bytes) } catch {
            throw SignInError(.storageFailed, "the file does not contain stored credentials")
        }
    }

    public func save(_ credentials: AccountCredentials) throws(SignInError) {
        let folder = file.deletingLastPathComponent()
        let bytes: Data
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            bytes = try JSONEncoder().encode(credentials)
        } catch { throw SignInError(.storageFailed, "folder") }
        let temporary = folder.appending(path: ".\(file.lastPathComponent).\(UUID().uuidString)").path
        do throws(SignInError) {
            try Self.write(bytes, to: temporary)
            guard unsafe rename(temporary, file.path) == 0 else { throw Self.failure("rename") }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
        try Self.sync(folder: folder.path)
    }

    public func remove() throws(SignInError) {
        guard unsafe unlink(file.path) == 0 || errno == ENOENT else { throw Self.failure("unlink") }
    }

    private static func requirePrivate(_ descriptor: Descriptor) throws(SignInError) {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw failure("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SignInError(.storageInsecure, "not a file") }
        guard status.st_uid == geteuid() else { throw SignInError(.storageInsecure, "somebody else's file") }
        guard status.st_mode & 0o077 == 0 else {
            throw SignInError(
                .storageInsecure, "others may access the file: mode " + String(status.st_mode & 0o777, radix: 8))
        }
    }

    /// Reads the whole file, unless it is too large.
    private static func read(_ descriptor: Descriptor) throws(SignInError) -> Data {
        let data: Data
        do {
            data =
                try FileHandle(fileDescriptor: descriptor.number, closeOnDealloc: false)
                .read(upToCount: maximumBytes + 1) ?? Data()
        } catch { throw SignInError(.storageFailed, "read") }
        guard data.count <= maximumBytes else { throw SignInError(.storageFailed, "too long") }
        return data
    }

    /// Creates a new file, with its bytes on disk.
    private static func write(_ bytes: Data, to path: String) throws(SignInError) {
        let number = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw failure("open") }
        let descriptor = Descriptor(number)
        let handle = FileHandle(fileDescriptor: descriptor.number, closeOnDealloc: false)
        do {
            try handle.write(contentsOf: bytes)
            try handle.synchronize()
        } catch { throw SignInError(.storageFailed, "write") }
    }

    /// Makes a rename durable.
    private static func sync(folder: String) throws(SignInError) {
        let number = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw failure("open folder") }
        let descriptor = Descriptor(number)
        guard fsync(descriptor.number) == 0 else { throw failure("fsync") }
    }

    private static func failure(_ call: String) -> SignInError { SignInError(.storageFailed, "\(call) \(errno)") }
}

#if canImport(Security)
    /// Stores credentials in the keychain of this device, readable in the background once the device has been unlocked
    /// after its start.
    ///
    /// The system keeps them when the app is deleted.
    public struct KeychainCredentialStore: CredentialStore {
        private let item: KeychainItem

        /// - Parameters:
        ///   - service: such as the app's bundle identifier; with `account` identifies the item.
        ///   - account: distinguishes several accounts of one app.
        ///   - accessGroup: the keychain access group or app group with which the app's extensions read the
        ///     credentials; nil: the app's first group.
        public init(service: String, account: String = "account", accessGroup: String? = nil) {
            item = KeychainItem(service: service, account: account, accessGroup: accessGroup)
        }

        /// - Throws: ``SignInError/Code/storageLocked``, ``SignInError/Code/storageFailed``.
        public func load() throws(SignInError) -> AccountCredentials? {
            let secret: Data?
            do throws(KeychainError) { secret = try item.load() } catch { throw SignInError(error) }
            guard let secret else { return nil }
            do { return try JSONDecoder().decode(AccountCredentials.self, from: secret) } catch {
                throw SignInError(.storageFailed, "the keychain's item does not contain stored credentials")
            }
        }

        public func save(_ credentials: AccountCredentials) throws(SignInError) {
            guard let secret = try? JSONEncoder().encode(credentials) else {
                throw SignInError(.storageFailed, "encode")
            }
            do throws(KeychainError) { try item.save(secret) } catch { throw SignInError(error) }
        }

        public func remove() throws(SignInError) {
            do throws(KeychainError) { try item.remove() } catch { throw SignInError(error) }
        }
    }

    extension SignInError {
        package init(_ error: KeychainError) {
            self.init(error.isLocked ? .storageLocked : .storageFailed, error.description)
        }
    }
#endif
