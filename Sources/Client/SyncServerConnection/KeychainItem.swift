#if canImport(Security)
    package import Foundation
    import Security

    /// A failure of the keychain.
    public struct KeychainError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The result code of Security's functions (Apple's documentation of Security, "Security Framework Result
        /// Codes").
        public let status: Int32

        /// Whether the device has not been unlocked since it was started: a later retry may succeed.
        public var isLocked: Bool { status == errSecInteractionNotAllowed }

        /// Safe to log.
        public var description: String { "keychain \(status)" }
    }

    /// A secret in the keychain that stays on this device, and can be read in the background once the device has been
    /// unlocked after its start: a generic password (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`).
    ///
    /// The system keeps it when the app is deleted.
    package struct KeychainItem: Sendable {
        private let service: String
        private let account: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - service: with `account` identifies the item.
        ///   - accessGroup: the keychain access group or app group that shares the item; nil: the app's first group.
        package init(service: String, account: String, accessGroup: String?) {
            self.service = service
            self.account = account
            self.accessGroup = accessGroup
        }

        /// Returns the secret, or nil if the keychain has no such item.
        package func load() throws(KeychainError) -> Data? {
            var query = query
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            try Self.require(status)
            guard let secret = found as? Data else { throw KeychainError(status: errSecDecode) }
            return secret
        }

        /// Replaces the secret, atomically.
        package func save(_ secret: Data) throws(KeychainError) {
            var status = update(secret)
            if status == errSecItemNotFound {
                let item = query.merging(Self.values(secret)) { $1 }
                status = SecItemAdd(item as CFDictionary, nil)
            }
            // Another process has added it meanwhile.
            if status == errSecDuplicateItem { status = update(secret) }
            try Self.require(status)
        }

        /// Removes the secret, if any.
        package func remove() throws(KeychainError) {
            let status = SecItemDelete(query as CFDictionary)
            guard status != errSecItemNotFound else { return }
            try Self.require(status)
        }

        private var query: [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account,
                // On macOS, only this keychain has access groups and accessibility.
                kSecUseDataProtectionKeychain: true,
            ]
            query[kSecAttrAccessGroup] = accessGroup
            return query
        }

        private static func values(_ secret: Data) -> [CFString: Any] {
            [kSecValueData: secret, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly]
        }

        private func update(_ secret: Data) -> OSStatus {
            SecItemUpdate(query as CFDictionary, Self.values(secret) as CFDictionary)
        }

        private static func require(_ status: OSStatus) throws(KeychainError) {
            guard status == errSecSuccess else { throw KeychainError(status: status) }
        }
    }
#endif
