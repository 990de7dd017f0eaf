import SyncProtocol

/// What the devices of an identity are told of a switch of its account: whoever has not begun it learns of it in time.
enum SwitchNotice {
    static func begun(to type: AccountType) -> String {
        "A device has begun to move your files to another account (\(type.rawValue)). If that was not you, cancel it."
    }

    static func confirmed(to type: AccountType) -> String {
        "Your account is another one now (\(type.rawValue)). Sign in with it on this device."
    }
}
