// swift-format-ignore-file: AlwaysUseLowerCamelCase

// A keychain in memory: generic passwords, with the result codes of Apple's documentation of Security. Types of Core
// Foundation are those that Swift converts them to.
import Foundation
import Synchronization

public typealias CFString = String
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32

public let errSecSuccess: OSStatus = 0
public let errSecParam: OSStatus = -50
public let errSecDuplicateItem: OSStatus = -25299
public let errSecItemNotFound: OSStatus = -25300
public let errSecInteractionNotAllowed: OSStatus = -25308
public let errSecDecode: OSStatus = -26275

public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecAttrService: CFString = "svce"
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecUseDataProtectionKeychain: CFString = "nleg"
public let kSecValueData: CFString = "v_Data"
public let kSecReturnData: CFString = "r_Data"
public let kSecMatchLimit: CFString = "m_Limit"
public let kSecMatchLimitOne: CFString = "m_LimitOne"

/// The keychain's items, by what identifies them: access group, service, account.
private let items = Mutex<[[String]: Data]>([:])

private let forcedStatus = Mutex<OSStatus?>(nil)

/// Sets the result of every call from now on.
public func forceStatus(_ status: OSStatus?) { forcedStatus.withLock { $0 = status } }

private func withItem(
    _ query: CFDictionary, _ body: (inout Data?) -> OSStatus
) -> OSStatus {
    if let status = forcedStatus.withLock({ $0 }) { return status }
    guard query[kSecClass] as? String == kSecClassGenericPassword,
        query[kSecUseDataProtectionKeychain] as? Bool == true,
        let service = query[kSecAttrService] as? String, let account = query[kSecAttrAccount] as? String
    else { return errSecParam }
    let key = [query[kSecAttrAccessGroup] as? String ?? "", service, account]
    return items.withLock { body(&$0[key]) }
}

private func secret(in attributes: CFDictionary) -> Data? {
    guard attributes[kSecAttrAccessible] as? String == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly else {
        return nil
    }
    return attributes[kSecValueData] as? Data
}

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    withItem(attributes) { item in
        guard item == nil else { return errSecDuplicateItem }
        item = secret(in: attributes)
        return item == nil ? errSecParam : errSecSuccess
    }
}

public func SecItemUpdate(_ query: CFDictionary, _ attributes: CFDictionary) -> OSStatus {
    withItem(query) { item in
        guard item != nil else { return errSecItemNotFound }
        item = secret(in: attributes) ?? item
        return errSecSuccess
    }
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    withItem(query) { item in
        guard let item else { return errSecItemNotFound }
        unsafe result?.pointee = NSData(data: item)
        return errSecSuccess
    }
}

public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    withItem(query) { item in
        guard item != nil else { return errSecItemNotFound }
        item = nil
        return errSecSuccess
    }
}
