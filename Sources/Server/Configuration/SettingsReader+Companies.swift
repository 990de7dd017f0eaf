import Providers
import SyncProtocol

// The settings of the companies' services, as their folders in `Providers` declare them.
extension SettingsReader {
    /// The account types with which people may sign in.
    mutating func accounts() -> [AccountType: SettingValues] {
        let allowed = Company.signIns.filter { reader.bool($0.enablingKey, default: false) }.map(\.accountType)
        let withStorage = Company.signIns.filter { $0.storage != nil }.map(\.accountType)
        if Set(allowed).isDisjoint(with: withStorage) {
            reader.problem(
                "allowedSignInTypes must include at least one type with storage: "
                    + withStorage.map(\.rawValue).joined(separator: ", "))
        }
        var accounts: [AccountType: SettingValues] = [:]
        for offer in Company.signIns {
            let isAllowed = allowed.contains(offer.accountType)
            let values = values(of: offer.settings, areUsed: isAllowed)
            if isAllowed { object(offer.objections(values)) }
            accounts[offer.accountType] = isAllowed ? values : nil
        }
        return accounts
    }

    /// The push services in use, by the sections of the file; each must be set up completely or not at all.
    mutating func push() -> [String: SettingValues] {
        var services: [String: SettingValues] = [:]
        for offer in Company.pushes where reader.has(prefix: offer.section) {
            let values = values(of: offer.settings, areUsed: true)
            object(offer.objections(values))
            services[offer.section] = values
        }
        return services
    }

    private mutating func object(_ objections: [(setting: Setting, text: String)]) {
        for (setting, text) in objections { reader.problem("\(setting.key) \(text)", at: setting.key) }
    }

    /// - Parameter areUsed: whether required settings must be present.
    private mutating func values(of settings: [Setting], areUsed: Bool) -> SettingValues {
        var values = SettingValues()
        for setting in settings {
            switch setting.kind {
            case .text, .redirectURI:
                let text = setting.isRequired && areUsed ? reader.required(setting.key) : reader.string(setting.key)
                if let text, !text.isEmpty, let objection = setting.objection(text) {
                    reader.problem("\(setting.key) \(objection)", at: setting.key)
                }
                values.set(setting, to: text)
            case .texts, .servers:
                let texts = reader.strings(setting.key)
                for text in texts {
                    guard let objection = setting.objection(text) else { continue }
                    reader.problem("\(setting.key): \(text) \(objection)", at: setting.key)
                }
                values.set(setting, to: texts)
            case .bool(let fallback): values.set(setting, to: reader.bool(setting.key, default: fallback))
            case .secret: values.set(setting, to: secretText(setting, isUsed: areUsed))
            }
        }
        return values
    }

    /// A secret; reports a problem if it is used and missing, or unusable.
    private mutating func secretText(_ setting: Setting, isUsed: Bool) -> String? {
        let known = reader.problems.count
        let secret = secret(setting.key)
        guard isUsed, isNeeded(setting.key) else { return secret?.value }
        guard let secret else { return setting.isRequired ? missing(setting.key + "File").value : nil }
        if reader.problems.count == known, let objection = setting.objection(secret.value) {
            reader.problem("\(setting.key)File cannot be used: \(objection)", at: setting.key + "File")
        }
        return secret.value
    }
}
